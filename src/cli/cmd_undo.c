/* undo: takes back what apply did. */
#include <stdio.h>

#include "cli/changesets.h"

#define STATUS_NO 1 /* to the question */

static int undo_changeset(const struct options *o, struct changeset *changeset,
                          const struct apply_options *options, sbr_error *err)
{
    struct apply_report report = { 0 };
    char question[STATE_PATH_SIZE + 60];
    int r;

    snprintf(question, sizeof(question), "take back what was applied to %.1000s%s?",
             changeset->changes.n_roots ? changeset->changes.roots[0].source : "nothing",
             changeset->changes.n_roots > 1 ? " and others" : "");
    r = changesets_ask(o, question, "undo", err);
    if (r <= 0)
        return r < 0 ? r : STATUS_NO;
    if (changesets_record("undo", changeset, err) < 0)
        return err->code;
    r = apply_undo(changeset, options, &report, err);
    if (r == 0 || report.conflicts.n)
        r = changesets_report(o, changeset, &report, "undone",
                              options->n_paths ? NULL : "everything is what it was");
    apply_report_done(&report);
    return r;
}

static int undo_run(struct options *o)
{
    return changesets_command(o, "undo", undo_changeset);
}

const struct command cmd_undo = {
    .name = "undo",
    .usage = "ID [PATH...] [--yes] [--force PATH]",
    .help = "take back what `apply` made real",
    .examples =
        "  sandbox-run undo 3f9ac0                everything is what it was before\n"
        "  sandbox-run undo 3f9ac0 src --yes      in src only, without asking\n\n"
        "A file that was changed after it was applied is a conflict: then nothing is undone, and\n"
        "the status is 126; --force PATH takes it back all the same.  The changes stay kept, and\n"
        "can be applied again.\n",
    .options = (const struct option *const[]){ options_report, options_changeset, options_look,
                                               options_quiet, options_general, NULL },
    .own_size = sizeof(struct changeset_options),
    .ids = "changes 2>/dev/null | cut -c1-12",
    .run = undo_run,
};
