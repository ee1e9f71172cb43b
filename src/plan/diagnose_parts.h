/* What the files of diagnose() share.  Bounds first: the text is a stranger's, and each line of it
 * meets each pattern. */
#ifndef PLAN_DIAGNOSE_PARTS_H
#define PLAN_DIAGNOSE_PARTS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "plan/diagnose.h"

#define DIAGNOSE_MAX_TEXT 65536
#define DIAGNOSE_MAX_LINES 1200 /* a trace of Java has up to 1024 */
#define DIAGNOSE_MAX_LINE 512
#define DIAGNOSE_MAX_WINDOW 8 /* lines that one pattern sees */
#define DIAGNOSE_MAX_GROUPS 10

/* One end of a text, cut into lines that end in NUL. */
struct lines {
    char *text;
    char **at;
    size_t n;
};

int lines_split(struct lines *lines, const char *text, size_t len, bool from_end) must_check;
void lines_done(struct lines *lines);

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
    char subject[DIAGNOSE_MAX_WINDOW * (DIAGNOSE_MAX_LINE + 1)];
    regmatch_t group[DIAGNOSE_MAX_GROUPS];
    size_t first, last;
};

enum window { WINDOW_STARTS, WINDOW_ENDS };

/* Whether the pattern matches the lines that start, or end, with this one. */
bool pattern_matches(struct pattern *pattern, const struct lines *lines, size_t line,
                     enum window window, struct hit *ret);
/* An empty text for a group that took no part; the caller frees it. */
char *hit_group(const struct hit *hit, int group);
unsigned int hit_number(const struct hit *hit, int group);

struct diagnose_state {
    const struct diagnose_input *in;
    const struct diagnosis_rules *rules;
    struct lines lines;
    struct pattern *errors, *frames, *ours;
    bool from_end; /* the last error counts             */
    bool cut;      /* the text has another end, not seen */
};

/* The first rule that matches at this line, or NULL. */
const struct error_rule *state_error_at(const struct diagnose_state *s, size_t line,
                                        struct hit *ret);

/* diagnose_frames.c: fills frames, file, line and column. */
void frames_fill(const struct diagnose_state *s, const struct error_rule *rule,
                 const struct hit *hit, struct diagnosis *d);

/* diagnose_source.c */
struct source {
    const char *text;
    size_t len;
};

/* Of a file as diagnoses name it; nothing when the request does not have it. */
struct source source_find(const struct diagnose_input *in, const char *file);
/* A line of it, counted from 1, without its end. */
struct source source_line(struct source source, unsigned int number);
/* Three lines with the failing one marked, or NULL. */
char *source_context(const struct diagnose_input *in, const char *file, unsigned int line);
/* `words` is the word and what else may be suggested, with | between them.  NULL: none is near. */
char *source_nearest(const struct diagnose_input *in, const char *words);
/* The column that a marker below a copy of the source's line points at, or 0. */
unsigned int source_marked_column(const struct diagnose_state *s, const struct hit *hit,
                                  const struct diagnosis *d);

/* diagnose_wording.c: \1 and ${nearest:\1}.  NULL when a nearest word is missing, or without memory. */
char *wording_expand(const struct diagnose_input *in, const struct hit *hit, const char *text);
/* The first of the alternatives that can be said. */
char *wording_expand_first(const struct diagnose_input *in, const struct hit *hit,
                           const char *text);
/* In place: at most `max` bytes, UTF-8, no control characters but line ends and tabs. */
void wording_clean(char *text, size_t max);

#endif
