/* workspace: work directories that are kept between runs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/save.h"
#include "cli/action.h"
#include "cli/amounts.h"
#include "cli/host_path.h"
#include "cli/present.h"
#include "cli/session_actions.h"
#include "lib/archive.h"
#include "lib/runner.h"
#include "workspace/workspace.h"

static const struct option own_options[] = {
    { 0 },
};

struct infos {
    struct workspace_info *v;
    size_t n;
};

static int add_info(void *context, const struct workspace_info *info)
{
    struct infos *infos = context;
    struct workspace_info *grown = realloc(infos->v, (infos->n + 1) * sizeof(*grown));

    if (!grown)
        return SBR_E_NO_MEMORY;
    infos->v = grown;
    grown[infos->n++] = *info;
    return 0;
}

static void print_info(const struct workspace_info *info, int width, bool color)
{
    char used[16], quota[16], idle[24];

    amount_of_bytes(info->used_bytes, used, sizeof(used));
    amount_of_bytes(info->quota_bytes, quota, sizeof(quota));
    amount_of_idle(info->used, idle, sizeof(idle));
    printf("%-*s  ", width, info->name);
    if (info->damaged) {
        printf("%sdamaged%s\n", color ? "\x1b[31m" : "", color ? "\x1b[0m" : "");
        return;
    }
    printf("%6s of %5s  %7llu of %7llu  %5s%s\n", used, quota,
           (unsigned long long)info->used_inodes, (unsigned long long)info->quota_inodes, idle,
           info->busy ? "  in use" : "");
}

static void put_info(struct jsonw *j, const struct workspace_info *info)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "name", info->name);
    jsonw_number(j, "owner", info->owner);
    jsonw_number(j, "quota_bytes", info->quota_bytes);
    jsonw_number(j, "quota_inodes", info->quota_inodes);
    jsonw_number(j, "used_bytes", info->used_bytes);
    jsonw_number(j, "used_inodes", info->used_inodes);
    jsonw_number(j, "created", info->created > 0 ? (uint64_t)info->created : 0);
    jsonw_number(j, "used", info->used > 0 ? (uint64_t)info->used : 0);
    jsonw_bool(j, "busy", info->busy);
    jsonw_bool(j, "damaged", info->damaged);
    jsonw_close(j, '}');
}

static uint64_t sum_bytes(const struct infos *infos)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < infos->n; i++)
        bytes += infos->v[i].used_bytes;
    return bytes;
}

static void list_json(const struct infos *infos)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "workspaces", '[');
    for (size_t i = 0; i < infos->n; i++)
        put_info(&j, &infos->v[i]);
    jsonw_close(&j, ']');
    jsonw_number(&j, "count", infos->n);
    jsonw_number(&j, "bytes", sum_bytes(infos));
    jsonw_close(&j, '}');
    present_json(&j);
}

static void list_text(const struct infos *infos, const struct options *o)
{
    bool color = present_uses_color(STDOUT_FILENO, o);
    char count[40], size[16];
    int width = 0;

    for (size_t i = 0; i < infos->n; i++)
        if ((int)strlen(infos->v[i].name) > width)
            width = (int)strlen(infos->v[i].name);
    for (size_t i = 0; i < infos->n; i++)
        print_info(&infos->v[i], width, color);
    fflush(stdout);
    amount_of(infos->n, "workspace", "workspaces", count, sizeof(count));
    amount_of_bytes(sum_bytes(infos), size, sizeof(size));
    if (infos->n)
        fprintf(stderr, "%s, %s\n", count, size);
    else
        fprintf(stderr, "there is no workspace yet; --workspace NAME makes one\n");
}

static int list_run(const struct options *o, sbr_error *err)
{
    struct infos infos = { 0 };
    int r = workspace_list(add_info, &infos, err);

    if (r == SBR_E_NO_MEMORY)
        err_set_oom(err, "workspace");
    else if (r == 0 && o->json)
        list_json(&infos);
    else if (r == 0)
        list_text(&infos, o);
    free(infos.v);
    return r;
}

/* Reports what was done: to stderr, because stdout may hold an archive. */
static void report(const struct options *o, const char *what, const char *name,
                   const struct archive_left_out *left)
{
    struct jsonw j;

    if (!o->json) {
        if (!o->quiet)
            fprintf(stderr, "%s %s\n", what, name);
        if (left && left->n)
            fprintf(stderr, "left out %llu %s, which no workspace holds: %s%s\n",
                    (unsigned long long)left->n,
                    left->n == 1 ? "device or pipe" : "devices or pipes", left->first,
                    left->n == 1 ? "" : ", ...");
        return;
    }
    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, what, name);
    if (left)
        jsonw_number(&j, "left_out", left->n);
    jsonw_close(&j, '}');
    present_json(&j);
}

static int rm_run(const struct options *o, sbr_error *err)
{
    if (workspace_remove(o->positional[1], err) < 0)
        return err->code;
    report(o, "removed", o->positional[1], NULL);
    return 0;
}

/* NULL: stdin or stdout. */
static const char *file_word(const struct options *o)
{
    const char *word = o->n_positional > 2 ? o->positional[2] : "-";

    return strcmp(word, "-") != 0 ? word : NULL;
}

static int export_to_stdout(const sbr_runtime *rt, const char *name, sbr_error *err)
{
    if (isatty(STDOUT_FILENO))
        return err_set(
            err, SBR_E_INVALID, "export",
            "an archive is nothing for a terminal; say where it goes: `sandbox-run workspace "
            "export %s FILE`",
            name);
    return archive_export(rt, name, &(struct archive_target){ .fd = STDOUT_FILENO }, err);
}

static int export_to_file(const sbr_runtime *rt, const char *name, const char *path, sbr_error *err)
{
    scoped_save_file struct save_file file = SAVE_FILE_NONE;
    int fd;

    if (session_open_file(NULL, path, &file, err) < 0)
        return err->code;
    fd = save_file_begin(&file, err);
    if (fd < 0 || archive_export(rt, name, &(struct archive_target){ fd, path }, err) < 0)
        return err->code;
    return save_file_end(&file, err);
}

static int export_run(const struct options *o, sbr_error *err)
{
    const char *name = o->positional[1], *path = file_word(o);
    sbr_runtime *rt;
    int r;

    if (runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    err->code = 0;
    r = path ? export_to_file(rt, name, path, err) : export_to_stdout(rt, name, err);
    sbr_runtime_close(rt);
    if (r == 0 && path)
        report(o, "exported", name, NULL);
    return r;
}

static uint64_t given_limit(const struct options *o, enum sbr_limit which)
{
    const struct limits *limits = &o->request->limits;

    return limits->given & (1u << which) ? limits->value[which] : 0;
}

static int import_run(const struct options *o, sbr_error *err)
{
    struct archive_source source = { .quota = { .bytes = given_limit(o, SBR_DISK_BYTES),
                                                .inodes = given_limit(o, SBR_INODES) } };
    const char *name = o->positional[1], *path = file_word(o);
    scoped_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    sbr_runtime *rt;
    int r;

    if (path && fd < 0)
        return err_set_errno(err, "import", "cannot read '%.200s'", path);
    if (!path && isatty(STDIN_FILENO))
        return err_set(err, SBR_E_INVALID, "import",
                       "say where the archive is: `sandbox-run workspace import %.70s FILE`", name);
    source.fd = path ? fd : STDIN_FILENO;
    if (runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    r = archive_import(rt, name, &source, err);
    sbr_runtime_close(rt);
    if (r < 0)
        return r;
    if (source.note[0] && !o->json && !o->quiet)
        fprintf(stderr, "tar: %s\n", source.note);
    report(o, "imported", name, &source.left_out);
    return 0;
}

static const struct action actions[] = {
    { "list", list_run, 0, 0, "" },
    { "ls", workspace_files_ls, 1, 2, " NAME [DIR]" },
    { "cat", workspace_files_cat, 2, 2, " NAME FILE" },
    { "cp", workspace_files_cp, 2, 2, " NAME:FILE TO, or FROM NAME:FILE" },
    { "rm", rm_run, 1, 1, " NAME" },
    { "export", export_run, 1, 2, " NAME [FILE]" },
    { "import", import_run, 1, 2, " NAME [FILE]" },
    { 0 },
};

static int workspace_run(struct options *o)
{
    sbr_error err;
    const struct action *action = action_find(o, actions, &err);
    int r;

    if (!action)
        return cli_fail(o, &err);
    if (o->request->limits.given && action->run != import_run)
        r = err_set(&err, SBR_E_INVALID, "options",
                    "--disk and --inodes are for `workspace import`");
    else
        r = action->run(o, &err);
    return r < 0 ? cli_fail(o, &err) : r;
}

const struct command cmd_workspace = {
    .name = "workspace",
    .usage = "[list | ls NAME [DIR] | cat NAME FILE | cp FROM TO | rm NAME | export NAME [FILE] | "
             "import NAME [FILE]]",
    .help = "show, remove, save and bring in work directories that runs keep (--workspace)",
    .examples =
        "  sandbox-run workspace                         what there is, and what it takes\n"
        "  sandbox-run workspace ls demo                 its files; with a directory, what is "
        "there\n"
        "  sandbox-run workspace cat demo out/log.txt    one of them\n"
        "  sandbox-run workspace cp demo:out/log.txt .   a copy of it here\n"
        "  sandbox-run workspace cp data.csv demo:in/    and one there\n"
        "  sandbox-run workspace export demo demo.tar    all of it, as a tar archive\n"
        "  sandbox-run workspace export demo demo.tgz    the same, compressed; also .zst, .xz, "
        ".bz2\n"
        "  sandbox-run workspace import demo2 demo.tar   a workspace from one, compressed or not\n"
        "  ssh host cat x.tar.zst | sandbox-run workspace import x --disk 2g --inodes 200000\n"
        "  sandbox-run workspace rm demo                 it goes, with all that is in it\n\n"
        "A run makes, uses and saves one with `--workspace NAME`; --disk and --inodes are\n"
        "then what it may take altogether.\n",
    .options = (const struct option *const[]){ options_report, own_options, options_look,
                                               options_quiet, options_general, NULL },
    .limits = 1u << SBR_DISK_BYTES | 1u << SBR_INODES,
    .ids = "workspace 2>/dev/null | sed \"s/ .*//\"",
    .actions = actions,
    .run = workspace_run,
};
