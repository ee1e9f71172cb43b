/* Shared by the files of diagnose(). */
#ifndef EXPLAIN_DIAGNOSE_INTERNAL_H
#define EXPLAIN_DIAGNOSE_INTERNAL_H

#include "explain/diagnose.h"
#include "plan/pattern.h"

struct diagnose_state {
    const struct diagnose_input *in;
    const struct diagnosis_rules *rules;
    struct lines lines;
    struct pattern *errors, *frames, *ours;
    bool from_end; /* the last error counts */
    bool cut;      /* only one end of the text was read */
};

/* The first rule that matches at this line, or NULL. */
const struct error_rule *diagnose_error_at(const struct diagnose_state *s, size_t line,
                                           struct hit *ret);

/* diagnose_frames.c: fills frames, file, line and column. */
void diagnose_frames_fill(const struct diagnose_state *s, const struct error_rule *rule,
                          const struct hit *hit, struct diagnosis *d);

/* diagnose_source.c */
struct source {
    const char *text;
    size_t len;
};

/* The source of a file that a diagnosis names; empty when the request does not have it. */
struct source diagnose_source_find(const struct diagnose_input *in, const char *file);
/* A line of it, counted from 1, without its end. */
struct source diagnose_source_line(struct source source, unsigned int number);
/* Three lines with the failing one marked, or NULL. */
char *diagnose_source_context(const struct diagnose_input *in, const char *file, unsigned int line);
/* `words` is the word and other possible suggestions, separated by |.  NULL: none is near. */
char *diagnose_source_nearest(const struct diagnose_input *in, const char *words);
/* The column that a marker below a copy of the source line points at, or 0. */
unsigned int diagnose_source_marked_column(const struct diagnose_state *s, const struct hit *hit,
                                           const struct diagnosis *d);

/* diagnose_wording.c: expands \1, ${nearest:\1}, ${beside:\1.py} and ${origin}.  NULL:
 * no word is near, no such file lies beside the program, or no memory. */
char *diagnose_wording_expand(const struct diagnose_input *in, const struct hit *hit,
                              const char *text);
/* The first of the alternatives that can be expanded. */
char *diagnose_wording_expand_first(const struct diagnose_input *in, const struct hit *hit,
                                    const char *text);
/* In place: at most `max` bytes, UTF-8, no control characters but line ends and tabs. */
void diagnose_wording_clean(char *text, size_t max);

#endif
