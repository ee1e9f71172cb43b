/* Changes and outputs, for people, on stderr. */
#include <stdio.h>

#include "base/buf.h"
#include "changes/textdiff.h"
#include "cli/present.h"
#include "model/executes.h"

#define EXECUTED_SHOWN 10

void present_name(FILE *out, const char *name)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    visible_put_name(&text, name);
    fputs(text.failed || !text.data ? "?" : text.data, out);
    buf_done(&text);
}

/* Files that were left out are always listed, because they are a loss; others only with `all`. */
static void print_files(const struct output_files *files, bool all)
{
    for (size_t i = 0; i < files->n; i++) {
        const struct output_file *file = &files->items[i];

        if (!file->skipped && !all)
            continue;
        fputs("sandbox-run: ", stderr);
        present_name(stderr, file->path);
        if (file->saved) {
            fputs(" -> ", stderr);
            present_name(stderr, file->saved);
            fputc('\n', stderr);
        } else if (file->skipped) {
            fprintf(stderr, " was not taken: it %s\n", file->skipped);
        } else {
            fprintf(stderr, " (%llu bytes)\n", (unsigned long long)file->size);
        }
    }
    if (files->dropped)
        fprintf(stderr, "sandbox-run: and %llu more files\n", (unsigned long long)files->dropped);
}

/* They would act outside as soon as the user calls git, an editor or another tool. */
static void print_executed(const struct changes *changes, const char *bold, const char *plain)
{
    size_t n = 0;

    for (size_t i = 0; i < changes->n; i++) {
        const char *what = executes_change(&changes->items[i]);

        if (!what || ++n > EXECUTED_SHOWN)
            continue;
        fprintf(stderr, "%ssandbox-run:%s others execute ", bold, plain);
        present_name(stderr, changes->items[i].path);
        fprintf(stderr, " (%s); `apply` leaves it out unless it is named\n", what);
    }
    if (n > EXECUTED_SHOWN)
        fprintf(stderr, "sandbox-run: and %zu more that others execute\n", n - EXECUTED_SHOWN);
}

void present_changes(const sbr_result *result, const struct options *o, bool asked)
{
    const char *bold = present_uses_color(2, o) ? "\x1b[1m" : "";
    const char *plain = *bold ? "\x1b[0m" : "";
    char summary[240];

    print_files(&result->files, present_uses_color(2, o) || o->text);
    if (!result->changes)
        return;
    changes_summary(result->changes, false, summary, sizeof(summary));
    if (!o->request->diff && !o->request->keep) {
        if (result->changes->n)
            fprintf(stderr,
                    "%ssandbox-run:%s not kept: %s; --diff shows it, --keep keeps it for `apply`\n",
                    bold, plain, summary);
        return;
    }
    if (result->diff)
        fputs(result->diff, stderr);
    if (result->changes->n || o->request->diff)
        fprintf(stderr, "%ssandbox-run:%s %s\n", bold, plain, summary);
    print_executed(result->changes, bold, plain);
    if (asked && result->changes->n)
        return;
    if (result->changes_id[0] && result->changes->n)
        fprintf(stderr,
                "sandbox-run: kept as %.*s: `sandbox-run apply %.*s` makes it real, "
                "`sandbox-run changes drop %.*s` forgets it\n",
                PRESENT_ID, result->changes_id, PRESENT_ID, result->changes_id, PRESENT_ID,
                result->changes_id);
    else if (result->changes_id[0])
        fprintf(stderr, "sandbox-run: kept as %.*s\n", PRESENT_ID, result->changes_id);
}
