/* changes: what runs with --keep would have done to the real trees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "changes/textdiff.h"
#include "cli/action.h"
#include "cli/amounts.h"
#include "cli/changesets.h"
#include "cli/present.h"

struct listing {
    const struct options *o;
    struct jsonw *json; /* NULL: text */
    size_t n;
    bool color;
};

static int list_one(void *context, const struct changeset *changeset)
{
    struct listing *listing = context;
    char summary[240], idle[24];

    listing->n++;
    if (listing->json) {
        jsonw_open(listing->json, NULL, '{');
        changeset_put_json(listing->json, changeset);
        jsonw_close(listing->json, '}');
        return 0;
    }
    printf("%.*s  ", PRESENT_ID, changeset->id);
    if (changeset->damaged) {
        printf("%sdamaged%s\n", listing->color ? "\x1b[31m" : "", listing->color ? "\x1b[0m" : "");
        return 0;
    }
    amount_of_idle(changeset->created, idle, sizeof(idle));
    changes_summary(&changeset->changes, changeset->applied, summary, sizeof(summary));
    printf("%5s  %s", idle, summary);
    printf("%s%s%s\n", changeset->about[0] ? "  (" : "", changeset->about,
           changeset->about[0] ? ")" : "");
    return 0;
}

static int list_run(const struct options *o, sbr_error *err)
{
    struct jsonw j = { 0 };
    struct listing listing = { .o = o,
                               .json = o->json ? &j : NULL,
                               .color = present_uses_color(STDOUT_FILENO, o) };
    int r;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "changes", '[');
    r = changeset_list(list_one, &listing, err);
    jsonw_close(&j, ']');
    jsonw_number(&j, "count", listing.n);
    if (r == 0 && o->json) {
        jsonw_close(&j, '}');
        present_json(&j);
        return 0;
    }
    free(jsonw_take(&j));
    fflush(stdout);
    if (r == 0 && !listing.n)
        fprintf(stderr, "no changes are kept; a run with --project DIR --keep keeps them\n");
    return r;
}

static int take_first(void *context, const struct changeset *changeset)
{
    memcpy(context, changeset->id, ENCODING_ID_SIZE);
    return 1;
}

/* The one that is named, else the newest. */
static int open_named(const struct options *o, struct changeset *changeset, sbr_error *err)
{
    char newest[ENCODING_ID_SIZE] = "";

    if (o->n_positional > 1)
        return changeset_open(o->positional[1], changeset, err);
    if (changeset_list(take_first, newest, err) < 0)
        return err->code;
    if (!newest[0])
        return err_set(err, SBR_E_NOT_FOUND, "changes",
                       "no changes are kept; a run with --project DIR --keep keeps them");
    return changeset_open(newest, changeset, err);
}

static void show_json(const struct changeset *changeset)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    changeset_put_json(&j, changeset);
    changes_put_json(&j, &changeset->changes);
    output_files_put_json(&j, &changeset->files);
    jsonw_close(&j, '}');
    present_json(&j);
}

static void show_files(const struct output_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        const struct output_file *file = &files->items[i];

        fputs("file      ", stdout);
        present_name(stdout, file->path);
        if (file->saved) {
            fputs(" -> ", stdout);
            present_name(stdout, file->saved);
        }
        printf("%s%s\n", file->skipped ? " was not taken: " : "",
               file->skipped ? file->skipped : "");
    }
    if (files->dropped)
        printf("... and %llu more files\n", (unsigned long long)files->dropped);
}

static void show_text(const struct changeset *changeset)
{
    char summary[240];

    printf("%s  %s%s\n", changeset->id, changeset->about, changeset->applied ? "  (applied)" : "");
    for (size_t i = 0; i < changeset->changes.n_roots; i++) {
        printf("%s is ", changeset->changes.roots[i].target);
        present_name(stdout, changeset->changes.roots[i].source);
        fputc('\n', stdout);
    }
    changesets_print_changes(stdout, &changeset->changes, SIZE_MAX, false);
    show_files(&changeset->files);
    changes_summary(&changeset->changes, changeset->applied, summary, sizeof(summary));
    printf("%s\n", summary);
}

static int show_run(const struct options *o, sbr_error *err)
{
    struct changeset changeset = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };

    if (open_named(o, &changeset, err) < 0)
        return err->code;
    if (o->json)
        show_json(&changeset);
    else
        show_text(&changeset);
    changeset_close(&changeset);
    return 0;
}

static int print_diff(const struct options *o, const struct changeset *changeset,
                      const struct changes *changes, sbr_error *err)
{
    const struct diff_options how = { .color = present_uses_color(STDOUT_FILENO, o) };
    struct buf text;
    int r;

    buf_init(&text, SIZE_MAX / 2);
    r = changes_diff(changes, changeset->tree_fd, &how, &text, err);
    if (r == 0 && text.len)
        (void)fwrite(text.data, 1, text.len, stdout); /* cli_main checks the stream */
    buf_done(&text);
    return r;
}

static int diff_run(const struct options *o, sbr_error *err)
{
    struct options words = *o;
    struct apply_options options = { 0 };
    struct changes selected = { 0 };
    struct changeset changeset = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    int r;

    if (o->json)
        return err_set(err, SBR_E_INVALID, "options",
                       "a diff is text; `sandbox-run changes show --json` has the list");
    if (open_named(o, &changeset, err) < 0)
        return err->code;
    if (o->n_positional > 1) { /* ID PATH..., as `apply` has it */
        words.positional++;
        words.n_positional--;
    }
    r = changesets_words(&words, &changeset, &options, err);
    options.flags = APPLY_EXECUTED;
    if (r == 0)
        r = apply_select(&changeset, &options, &selected, err);
    if (r == 0)
        r = print_diff(o, &changeset, &selected, err);
    free(selected.items);
    changesets_words_done(&options);
    changeset_close(&changeset);
    return r;
}

static int drop_run(const struct options *o, sbr_error *err)
{
    struct jsonw j;

    for (size_t i = 1; i < o->n_positional; i++) {
        if (changeset_drop(o->positional[i], err) < 0)
            return err->code;
        if (!o->json && !o->quiet)
            fprintf(stderr, "dropped %s\n", o->positional[i]);
    }
    if (o->json) {
        jsonw_init(&j, present_has_lines());
        jsonw_open(&j, NULL, '{');
        jsonw_number(&j, "dropped", o->n_positional - 1);
        jsonw_close(&j, '}');
        present_json(&j);
    }
    return 0;
}

static const struct action actions[] = {
    { "list", list_run, 0, 0, "" },
    { "show", show_run, 0, 1, " [ID]" },
    { "diff", diff_run, 0, SIZE_MAX, " [ID [PATH...]]" },
    { "drop", drop_run, 1, SIZE_MAX, " ID..." },
    { 0 },
};

static int changes_run(struct options *o)
{
    sbr_error err;
    const struct action *action = action_find(o, actions, &err);
    int r = action ? action->run(o, &err) : err.code;

    return r < 0 ? cli_fail(o, &err) : r;
}

const struct command cmd_changes = {
    .name = "changes",
    .usage = "[list | show [ID] | diff [ID [PATH...]] | drop ID...]",
    .help = "show or forget the changes that runs have kept",
    .examples =
        "  sandbox-run changes                    what is kept, newest first\n"
        "  sandbox-run changes show 3f9ac0        each change, by the start of the id\n"
        "  sandbox-run changes diff               of the newest, as a unified diff\n"
        "  sandbox-run changes diff 3f9ac0 src    what is in src only\n"
        "  sandbox-run changes drop 3f9ac0        forgets them, and their undo\n\n"
        "`sandbox-run apply ID` makes them real.  SANDBOX_RUN_STATE names another place to keep\n"
        "them than ~/.local/state/sandbox-run.\n",
    .options = (const struct option *const[]){ options_report, options_look, options_quiet,
                                               options_general, NULL },
    .ids = "changes 2>/dev/null | cut -c1-12",
    .actions = actions,
    .run = changes_run,
};
