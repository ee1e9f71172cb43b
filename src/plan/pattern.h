/* Patterns of a language's file, for messages of its tools.  The messages are written by untrusted
 * programs, and every line is compared with every pattern, so everything here has a bound. */
#ifndef PLAN_PATTERN_H
#define PLAN_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/language.h"

#define PATTERN_MAX_TEXT 65536
#define PATTERN_MAX_LINES 1200 /* a trace of Java has up to 1024 */
#define PATTERN_MAX_LINE 512
#define PATTERN_MAX_WINDOW 8 /* lines that one pattern sees */
#define PATTERN_MAX_GROUPS 10

/* One end of a text, cut into lines that end in NUL. */
struct lines {
    char *text;
    char **at;
    size_t n;
};

int pattern_lines_split(struct lines *lines, const char *text, size_t len, bool from_end)
    must_check;
void pattern_lines_done(struct lines *lines);

/* Most lines meet most patterns in vain.  So each knows a text that is a part of all that it matches,
 * and is compiled when a line with that text turns up. */
struct pattern {
    char *text;
    char *literal;
    regex_t regex;
    size_t lines;
    bool compiled, broken;
};

int pattern_init(struct pattern *pattern, const char *match) must_check;
/* A pattern that is none never matches. */
bool pattern_compile(struct pattern *pattern);
void pattern_done(struct pattern *pattern);

/* Where a pattern matched: lines `first` to `last`, and its groups in a copy of them. */
struct hit {
    char subject[PATTERN_MAX_WINDOW * (PATTERN_MAX_LINE + 1)];
    regmatch_t group[PATTERN_MAX_GROUPS];
    size_t first, last;
};

enum window { WINDOW_STARTS, WINDOW_ENDS };

/* Whether the pattern matches the lines that start, or end, with this one. */
bool pattern_matches(struct pattern *pattern, const struct lines *lines, size_t line,
                     enum window window, struct hit *ret);
/* An empty text for a group that took no part; the caller frees it. */
char *pattern_hit_group(const struct hit *hit, int group);
unsigned int pattern_hit_number(const struct hit *hit, int group);

/* Whether each pattern is one and each number of a group exists, for readers of language files. */
int pattern_check_rules(const struct diagnosis_rules *rules, sbr_error *err) must_check;

#endif
