/* What `changes`, `apply` and `undo` share. */
#ifndef CLI_CHANGESETS_H
#define CLI_CHANGESETS_H

#include <stdio.h>

#include "base/save.h"
#include "changes/apply.h"
#include "cli/cli.h"
#include "model/result.h"

/* Of `apply` and `undo`. */
struct changeset_options {
    bool yes;           /* the question is answered */
    struct texts force; /* paths that are applied or undone though they conflict */
    struct texts also;  /* paths that others execute */
    bool executed;      /* the person agreed to all of them */
};
extern const struct option options_changeset[];

/* One line for each change; more than `most` are counted. */
void changesets_print_changes(FILE *out, const struct changes *changes, size_t most, bool coming);

/* PATH... and --force of the command line, which may be relative to the tree, or on the host, or
 * inside.  Borrows the strings from `o` or `changeset`; changesets_words_done frees the lists. */
int changesets_words(const struct options *o, const struct changeset *changeset,
                     struct apply_options *ret, sbr_error *err) must_check;
void changesets_words_done(struct apply_options *options);

/* 1: yes; 0: no; negative: there is neither a terminal to ask on nor --yes. */
int changesets_ask(const struct options *o, const char *question, const char *command,
                   sbr_error *err) must_check;

/* Opens the changes that the first word names and does `work` on them; the exit status. */
typedef int changeset_work(const struct options *o, struct changeset *changeset,
                           const struct apply_options *options, sbr_error *err);
int changesets_command(struct options *o, const char *command, changeset_work *work);

/* With an audit, what cannot go on record is not done. */
int changesets_record(const char *kind, const struct changeset *changeset, sbr_error *err)
    must_check;

/* cmd_apply.c: the exit status. */
int cmd_apply_run(struct options *o);

/* Reports how an apply or undo ended; the exit status.  `done`: "applied" or "undone";
 * `summary`: of what was done, or NULL. */
/* What is left out because others execute it, to stderr. */
void changesets_print_left(const struct apply_report *report);
int changesets_report(const struct options *o, const struct changeset *changeset,
                      const struct apply_report *report, const char *done, const char *summary);

/* The file of --diff=FILE. */

/* Before the run: its changes would be lost with a file that cannot be written.  What is in the
 * file stays until the end. */
int diff_file_open(const struct options *o, struct save_file *file, sbr_error *err) must_check;
/* Takes the diff out of the result, so that nothing repeats it. */
int diff_file_write(struct save_file *file, sbr_result *result, sbr_error *err) must_check;

#endif
