/* apply: makes kept changes real. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/changesets.h"

#define LINES_SHOWN 40
#define STATUS_NO 1 /* to the question */

#define SUMMARY_SIZE 240

/* Shows what would be applied; `done` becomes the summary for afterwards. */
static int show(const struct options *o, const struct changeset *changeset,
                const struct apply_options *options, char done[SUMMARY_SIZE], sbr_error *err)
{
    struct changes selected;
    char summary[SUMMARY_SIZE];

    if (apply_select(changeset, options, &selected, err) < 0)
        return err->code;
    changes_summary(&selected, true, done, SUMMARY_SIZE);
    if (!o->json) {
        changesets_print_changes(stderr, &selected, LINES_SHOWN, true);
        changes_summary(&selected, false, summary, sizeof(summary));
        fprintf(stderr, "sandbox-run: %s\n", summary);
    }
    free(selected.items);
    return 0;
}

/* Only a person at a terminal is asked: --yes is an answer to the first question alone. */
static int ask_executed(const struct options *o, const struct apply_report *report,
                        struct apply_options *options, sbr_error *err)
{
    struct changeset_options *own = o->own;
    int r;

    if (own->yes || !report->n_left_out)
        return 0;
    changesets_print_left(report);
    r = changesets_ask(o,
                       "apply these too, which git, an editor or another tool executes or trusts?",
                       "apply", err);
    if (r > 0)
        options->flags |= APPLY_EXECUTED;
    own->executed = r > 0;
    return r < 0 ? r : 0;
}

static int ask(const struct options *o, const struct changeset *changeset, sbr_error *err)
{
    struct buf question;
    int r;

    buf_init(&question, 1 << 16);
    buf_add_text(&question, "apply to ");
    for (size_t i = 0; i < changeset->changes.n_roots; i++)
        buf_printf(&question, "%s%s", i ? ", " : "", changeset->changes.roots[i].source);
    buf_add_text(&question, "?");
    r = changesets_ask(o, question.failed ? "apply?" : question.data, "apply", err);
    buf_done(&question);
    return r;
}

/* Conflicts are reported before the question. */
static int apply_changeset(const struct options *o, struct changeset *changeset,
                           const struct apply_options *given, sbr_error *err)
{
    struct apply_options words = *given, *options = &words;
    struct apply_report report = { 0 };
    char done[SUMMARY_SIZE];
    int r;

    if (show(o, changeset, options, done, err) < 0 ||
        apply_check(changeset, options, &report, err) < 0)
        return err->code;
    if (report.conflicts.n) {
        r = changesets_report(o, changeset, &report, "applied", done);
        apply_report_done(&report);
        return r;
    }
    r = ask(o, changeset, err);
    if (r > 0 && ask_executed(o, &report, options, err) < 0)
        r = err->code;
    apply_report_done(&report);
    if (r <= 0)
        return r < 0 ? r : STATUS_NO;
    if (changesets_record("apply", changeset, err) < 0)
        return err->code;
    r = apply(changeset, options, &report, err);
    if (r == 0 || report.conflicts.n)
        r = changesets_report(o, changeset, &report, "applied", done);
    apply_report_done(&report);
    return r;
}

int cmd_apply_run(struct options *o)
{
    return changesets_command(o, "apply", apply_changeset);
}

const struct command cmd_apply = {
    .name = "apply",
    .usage = "ID [PATH...] [--yes] [--force PATH]",
    .help = "make changes that a run has kept real",
    .examples =
        "  sandbox-run --project . --keep clean.sh   runs on a copy-on-write view, keeps changes\n"
        "  sandbox-run apply 3f9ac0                  shows them, asks, and makes them real\n"
        "  sandbox-run apply 3f9ac0 src --yes        those in src only, without asking\n"
        "  sandbox-run apply 3f9ac0 --force a.txt    a.txt too, though it was changed since\n\n"
        "A file that was changed since the run is a conflict: then nothing is applied, and the\n"
        "status is 126.  What git, an editor, CI or an agent executes, and a file that becomes\n"
        "executable, is listed apart and left out unless its path or --also names it, or a second\n"
        "answer at a terminal takes it.\n"
        "Each file is replaced in one step: after an interruption, repeat the\n"
        "command.  `sandbox-run undo ID` takes everything back.\n",
    .options = (const struct option *const[]){ options_report, options_changeset, options_look,
                                               options_quiet, options_general, NULL },
    .own_size = sizeof(struct changeset_options),
    .ids = "changes 2>/dev/null | cut -c1-12",
    .run = cmd_apply_run,
};
