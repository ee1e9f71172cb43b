/* What the commands changes, apply and undo have in common. */
#ifndef CLI_CHANGESETS_H
#define CLI_CHANGESETS_H

#include <stdio.h>

#include "changes/apply.h"
#include "cli/cli.h"

#define KEPT_ID_SHOWN 12 /* characters: unique for all that people keep */

/* Of `apply` and `undo`. */
struct changeset_options {
    bool yes;           /* the question is answered */
    struct texts force; /* paths that are applied or undone though they conflict */
};
extern const struct option options_changeset[];

/* A name as a person can read it, to `out`. */
void changesets_print_name(FILE *out, const char *name);
/* One line for each change; more than `most` are counted. */
void changesets_print_changes(FILE *out, const struct changes *changes, size_t most);

/* PATH... and --force of the command line: relative to the tree, as the changes have them, or on the host, or inside.
 * The strings are borrowed from `o` or `kept`; changesets_words_done frees the lists. */
int changesets_words(const struct options *o, const struct changeset *changeset,
                     struct apply_options *ret, sbr_error *err) must_check;
void changesets_words_done(struct apply_options *options);

/* 1: yes; 0: no; negative: nobody is there to be asked, and --yes was not given. */
int changesets_ask(const struct options *o, const char *question, const char *command,
                   sbr_error *err) must_check;

/* Opens the changes that the first word names and does `work` on them; the exit status. */
typedef int kept_work(const struct options *o, struct changeset *changeset,
                      const struct apply_options *options, sbr_error *err);
int changesets_command(struct options *o, const char *command, kept_work *work);

/* How an apply or undo ended; the exit status.  `done`: "applied" or "undone"; `summary`: what that is, or NULL. */
int changesets_report(const struct options *o, const struct changeset *changeset,
                      const struct apply_report *report, const char *done, const char *summary);

#endif
