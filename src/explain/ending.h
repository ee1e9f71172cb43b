/* One sentence for every end that is not the program's own: what ended it, the figure, and the
 * option that gives more where there is one.  Pure. */
#ifndef EXPLAIN_ENDING_H
#define EXPLAIN_ENDING_H

#include <stdbool.h>
#include <stddef.h>

#include "model/result.h"
#include "plan/stage.h"

/* Fills result->explanation from its verdict, signal and limits; empty when the stage exited by
 * itself.  `inodes`: of a disk limit, its number of files was reached. */
void ending_explain(sbr_result *result, enum stage stage, bool inodes);

/* The sentence of a job whose program did not run because `stage` failed with the result `last`. */
void ending_explain_stage(sbr_result *result, enum stage stage, const sbr_result *last);

/* Puts the name of the signal to the client into the sentence of a cancelled run. */
void ending_name_signal(sbr_result *result, int number);

/* How the double of a limit that was not enough is given to a stage; "" when there is no more to be
 * had. */
void ending_remedy(enum stage stage, enum sbr_limit which, uint64_t value, char *buf, size_t size);

/* True when the refusal says no more than the explanation of the result. */
bool ending_covers(const sbr_result *result, const struct denial *denial);
/* True when a limit ended the run, so that its explanation has the remedy. */
bool ending_is_limit(const sbr_result *result);

/* What a run may use and what was refused, of a plan or of a result.  Pure.  Reads only the JSON
 * form, so that a saved plan and a new one are explained by the same code. */
struct json_t; /* of jansson */

/* `record` is a result or a plan.  NULL when it is neither, or without memory.  The caller owns
 * {about, outcome, allowed {network, files, limits, system_calls, environment, isolation},
 * refused} */
struct json_t *explain_record(const struct json_t *record);

/* The end of what a program wrote, for its diagnosis and for refusals that its words reveal. */
struct last_words {
    const char *text; /* NULL: nothing is kept */
    size_t len;
    char *copy; /* owned; NULL: `text` is the result's */
};

#define scoped_last_words __attribute__((cleanup(last_words_done)))

/* The end of stderr.  A terminal has both streams in one: its end, with plain line ends and without
 * escape sequences. */
struct last_words last_words_of(const sbr_result *result);
void last_words_done(struct last_words *words);

/* Changes terminal output to plain text in place; returns its length. */
size_t last_words_clean(char *text, size_t len);

#endif
