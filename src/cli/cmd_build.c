/* build: a project built in the sandbox, with what the tools said and what they made. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/host_path.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "lib/runner.h"
#include "work/build.h"

#define SHOWN 40 /* artifacts; --verbose shows all */

struct build_options {
    const char *tool, *artifacts;
    bool twice;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "tool", "NAME", "what builds it; without it, the files of the directory decide",
      OPTION_OWN(struct build_options, tool), .word = build_tool_name },
    { 0, "artifacts", "DIR", "copy what was made to DIR; without it, it is kept for `apply`",
      OPTION_OWN(struct build_options, artifacts) },
    { 0, "twice", NULL, "build again, and compare the bytes of what was made",
      OPTION_OWN(struct build_options, twice) },
    { 0 },
};
/* clang-format on */

static int make_request(struct options *o, sbr_error *err)
{
    const char *word = o->n_positional ? o->positional[0] : ".";
    char dir[PATH_MAX];

    if (o->n_positional > 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "name one directory; what follows `--` goes to the tool");
    if (!o->request->project) {
        if (!realpath(word, dir))
            return err_set_errno(err, "build", "cannot find '%.200s'", word);
        if (request_set_project(o->request, dir, err) < 0)
            return err->code;
    }
    for (char **rest = o->rest; rest && *rest; rest++)
        if (request_add_arg(o->request, *rest, err) < 0)
            return err->code;
    return settings_apply(o, err);
}

static void show_message(const struct build_message *m)
{
    if (m->file)
        printf("%s:", m->file);
    if (m->line)
        printf("%u:", m->line);
    if (m->column)
        printf("%u:", m->column);
    printf("%s%s: %s", m->file ? " " : "", build_message_severity_name(m->severity), m->text);
    printf(m->code ? " [%s]\n" : "\n", m->code ? m->code : "");
}

/* Errors first: they are what one reads. */
static void show_messages(const struct build_messages *messages, bool notes)
{
    for (enum message_severity s = MESSAGE_ERROR; s <= (notes ? MESSAGE_NOTE : MESSAGE_WARNING);
         s++)
        for (size_t i = 0; i < messages->n; i++)
            if (messages->items[i].severity == s)
                show_message(&messages->items[i]);
    if (messages->dropped)
        printf("... and %" PRIu64 " more\n", messages->dropped);
}

/* A build that failed without an error that we know: what it printed says why. */
static void show_output(const struct options *o, const struct build *build)
{
    const sbr_report *run = sbr_result_report(build->result);

    if (result_success(build->result) ||
        (run->verdict == SBR_EXITED && build_messages_count(&build->messages, MESSAGE_ERROR)))
        return;
    present_stages(build->result, 0, o);
    terminal_print(stdout, o->raw, run->out, run->out_len);
    terminal_print(stderr, o->raw, run->errout, run->errout_len);
    present_result(build->result, o, PRESENT_HELP);
}

static void show_artifacts(const struct options *o, const struct build *build)
{
    const struct build_artifacts *made = &build->artifacts;
    const struct build_options *own = o->own;

    for (size_t i = 0; i < made->n && (o->verbose || i < SHOWN); i++) {
        char size[SIZE_TEXT_SIZE];

        changes_size_text(made->items[i].size, size);
        fputs("made  ", stdout);
        present_name(stdout, made->items[i].path);
        printf("  %s\n", size);
    }
    if (made->n > SHOWN && !o->verbose)
        printf("... and %zu more\n", made->n - SHOWN);
    if (build->differs) {
        fputs("a second build made ", stdout);
        present_name(stdout, build->differs);
        fputs(" otherwise\n", stdout);
    } else if (build->compared) {
        printf("a second build made the same bytes\n");
    }
    fflush(stdout);
    if (made->n && !own->artifacts && build->result->changes_id[0] && !o->quiet)
        fprintf(stderr, "sandbox-run: `sandbox-run apply %.*s` makes the changes real\n",
                PRESENT_ID, build->result->changes_id);
}

static void show_count(size_t n, const char *what)
{
    printf("%zu %s%s, ", n, what, n == 1 ? "" : "s");
}

static void print_text(const struct options *o, const struct build *build)
{
    const sbr_report *run = sbr_result_report(build->result);

    show_output(o, build);
    show_messages(&build->messages, o->verbose);
    printf("%s: ", build->tool->name);
    show_count(build_messages_count(&build->messages, MESSAGE_ERROR), "error");
    show_count(build_messages_count(&build->messages, MESSAGE_WARNING), "warning");
    show_count(build->artifacts.n, "artifact");
    printf("%" PRIu64 ".%" PRIu64 " s\n", run->wall_us / 1000000, run->wall_us / 100000 % 10);
    if (result_success(build->result))
        show_artifacts(o, build);
}

static int print_json(const struct build *build, sbr_error *err)
{
    scoped_free char *json = build_to_json(build);

    if (!json)
        return err_set_oom(err, "build");
    printf("%s\n", json);
    return 0;
}

static int build_project(struct options *o, struct build *ret, sbr_error *err)
{
    const struct build_options *own = o->own;
    scoped_free char *dir = NULL;
    sbr_build how = { .struct_size = sizeof(how), .tool = own->tool, .twice = own->twice };
    sbr_runtime *rt = NULL;
    int r;

    if (own->artifacts && host_path_unresolved(own->artifacts, &dir, err) < 0)
        return err->code;
    how.output_dir = dir;
    if (make_request(o, err) < 0 || runner_open(RUNNER_ONCE, o->cold, &rt, err) < 0)
        return err->code;
    r = build_run(rt, o->request, &how, ret, err);
    sbr_runtime_close(rt);
    return r;
}

static int run_build(struct options *o)
{
    struct build build = { 0 };
    sbr_error err;
    int status = 0;

    if (build_project(o, &build, &err) < 0)
        return cli_fail(o, &err);
    if (!o->json)
        print_text(o, &build);
    else if (print_json(&build, &err) < 0)
        status = cli_fail(o, &err);
    if (!status)
        status = build_succeeded(&build) ? 0 : 1;
    build_done(&build);
    return status;
}

const struct command cmd_build = {
    .name = "build",
    .usage = "[OPTIONS] [DIR] [-- ARG...]",
    .help = "build a project in the sandbox: messages with places, artifacts",
    .examples =
        "Examples:\n"
        "  sandbox-run build                    this directory, by make, cmake, cargo, npm, ...\n"
        "  sandbox-run build --artifacts out/ project/\n"
        "  sandbox-run build --twice            does it make the same bytes again?\n"
        "  sandbox-run build --tool make . -- all CFLAGS=-O2\n\n"
        "A directory named `build` is run as ./build.  The project is copy-on-write: what was made "
        "is\nkept, and `sandbox-run apply ID` makes it real.  The status is 0 when the tool "
        "succeeded,\notherwise 1.  Limits that are not given are larger than below: 10m, 4g of "
        "memory,\n"
        "512 processes, 4g of disk.\n",
    .own_size = sizeof(struct build_options),
    .options = (const struct option *const[]){ own_options, options_tools, options_trees,
                                               options_network, options_isolation, options_json,
                                               options_max_chars, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = run_build,
};
