/* Patterns of a language's file for messages of its tools.  Untrusted programs write these
 * messages, and every line is compared with every pattern, so everything here is bounded. */
#ifndef PLAN_PATTERN_H
#define PLAN_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/language.h"

#define PATTERN_MAX_TEXT 65536
#define PATTERN_MAX_LINES 1200 /* a Java trace has up to 1024 */
#define PATTERN_MAX_LINE 512
#define PATTERN_MAX_WINDOW 8 /* lines that one pattern matches */
#define PATTERN_MAX_GROUPS 10

/* The start or the end of a text, split into lines that end in NUL. */
struct lines {
    char *text;
    char **at;
    size_t n;
};

int pattern_lines_split(struct lines *lines, const char *text, size_t len, bool from_end)
    must_check;
void pattern_lines_done(struct lines *lines);

/* Most lines match no pattern.  So each pattern has a text that is part of all its matches, and is
 * compiled only when a line contains that text. */
struct pattern {
    char *text;
    char *literal;
    regex_t regex;
    size_t lines;
    bool compiled, broken;
};

int pattern_init(struct pattern *pattern, const char *match) must_check;
/* An invalid pattern never matches. */
bool pattern_compile(struct pattern *pattern);
void pattern_done(struct pattern *pattern);

/* A match: lines `first` to `last`, and the groups in a copy of them. */
struct hit {
    char subject[PATTERN_MAX_WINDOW * (PATTERN_MAX_LINE + 1)];
    regmatch_t group[PATTERN_MAX_GROUPS];
    size_t first, last;
};

enum window { WINDOW_STARTS, WINDOW_ENDS };

/* Matches the lines that start, or end, with this one. */
bool pattern_matches(struct pattern *pattern, const struct lines *lines, size_t line,
                     enum window window, struct hit *ret);
/* Empty for a group that took no part; the caller frees it. */
char *pattern_hit_group(const struct hit *hit, int group);
unsigned int pattern_hit_number(const struct hit *hit, int group);

/* Checks each pattern and each number of a group, for readers of language files. */
int pattern_check_rules(const struct diagnosis_rules *rules, sbr_error *err) must_check;

#endif
