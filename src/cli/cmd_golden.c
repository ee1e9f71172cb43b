/* golden: commands whose output, status and files are compared with those that are expected. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/changesets.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "lib/runner.h"
#include "work/golden.h"

struct golden_options {
    const char *format, *jobs;
    bool update, yes;
};

static const char *format_word(size_t i)
{
    static const char *const words[] = { "text", "json", "junit", "tap" };

    return i < sizeof(words) / sizeof(*words) ? words[i] : NULL;
}

/* clang-format off */
static const struct option own_options[] = {
    { 0, "update", NULL, "expect what there is now; asks for each case",
      OPTION_OWN(struct golden_options, update) },
    { 'y', "yes", NULL, "with --update: for all cases, without asking",
      OPTION_OWN(struct golden_options, yes) },
    { 0, "jobs", "N", "so many cases at a time; without it, one for each CPU",
      OPTION_OWN(struct golden_options, jobs) },
    { 0, "format", "FORM", "what is printed: text, json, junit or tap",
      OPTION_OWN(struct golden_options, format), .word = format_word },
    { 0 },
};
/* clang-format on */

struct golden_call {
    struct options *o;
    const struct golden_options *own;
    sbr_runtime *rt;
    const char *format;
    char dir[PATH_MAX];
    unsigned int jobs;
    struct golden golden;
    size_t n_chosen; /* cases whose new output is expected from now on */
};

static int read_options(struct golden_call *g, sbr_error *err)
{
    uint64_t jobs = 0;

    g->format = g->own->format ? g->own->format : g->o->json ? "json" : "text";
    for (size_t i = 0; format_word(i) && strcmp(format_word(i), g->format) != 0; i++)
        if (!format_word(i + 1))
            return err_set(err, SBR_E_INVALID, "options",
                           "--format '%.40s' is none of text, json, junit and tap", g->format);
    if (g->own->jobs && (text_parse_count(g->own->jobs, &jobs) != TEXT_OK || !jobs || jobs > 1024))
        return err_set(err, SBR_E_INVALID, "options", "--jobs '%.40s' is no number from 1 to 1024",
                       g->own->jobs);
    g->jobs = (unsigned int)jobs;
    if (g->own->yes && !g->own->update)
        return err_set(err, SBR_E_INVALID, "options", "--yes answers --update, which is not there");
    return 0;
}

/* The directory of the cases; the commands see the current directory as /work. */
static int make_request(struct golden_call *g, sbr_error *err)
{
    struct options *o = g->o;
    char here[PATH_MAX];

    if (o->n_positional != 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "name the directory of the cases, as in `sandbox-run golden tests/golden`");
    if (!realpath(o->positional[0], g->dir))
        return err_set_errno(err, "golden", "cannot find '%.200s'", o->positional[0]);
    if (!o->request->project) {
        if (!getcwd(here, sizeof(here)))
            return err_set_errno(err, "golden", "cannot find the current directory");
        if (request_set_project(o->request, here, err) < 0)
            return err->code;
    }
    if (o->lang && request_set_text(&o->request->language, o->lang, err) < 0)
        return err->code;
    return settings_apply(o, err);
}

static void show_message(FILE *to, const struct report_case *c)
{
    for (const char *line = c->message; line && *line;) {
        size_t len = strcspn(line, "\n");

        fprintf(to, "        %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

static bool has_failed(const struct report_case *c)
{
    return c->outcome == CASE_FAILED || c->outcome == CASE_BROKEN;
}

static void print_text(const struct golden_call *g)
{
    const struct report *r = &g->golden.report;

    for (size_t i = 0; i < r->n; i++) {
        if (!has_failed(&r->cases[i]) && !g->o->verbose)
            continue;
        printf("%-7s %s\n", test_report_outcome_name(r->cases[i].outcome), r->cases[i].name);
        show_message(stdout, &r->cases[i]);
    }
    printf("golden: %zu passed, %zu failed\n", test_report_count(r, CASE_PASSED),
           test_report_count(r, CASE_FAILED) + test_report_count(r, CASE_BROKEN));
    fflush(stdout);
}

static int print(const struct golden_call *g, sbr_error *err)
{
    struct buf out;
    int r = 0;

    if (!strcmp(g->format, "text")) {
        print_text(g);
        return 0;
    }
    buf_init(&out, SIZE_MAX / 2);
    if (!strcmp(g->format, "json")) {
        scoped_free char *json = golden_to_json(&g->golden);

        buf_printf(&out, "%s\n", json ? json : "");
    } else if (!strcmp(g->format, "junit")) {
        test_report_write_junit(&g->golden.report, "golden", &out);
    } else {
        test_report_write_tap(&g->golden.report, &out);
    }
    if (out.failed)
        r = err_set_oom(err, "golden");
    else
        fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    return r;
}

static bool is_accepted(const struct report_case *c)
{
    char line[16] = "";

    fprintf(stderr, "%s\n", c->name);
    show_message(stderr, c);
    fprintf(stderr, "expect this from now on? [y/N] ");
    fflush(stderr);
    if (!fgets(line, sizeof(line), stdin))
        fputc('\n', stderr);
    return line[0] == 'y' || line[0] == 'Y';
}

/* Which cases are updated: all that differ, or those that the person at the terminal accepts. */
static int choose(struct golden_call *g, bool asks, bool **ret, sbr_error *err)
{
    bool *chosen = calloc(g->golden.cases.n, sizeof(*chosen));

    if (!chosen)
        return err_set_oom(err, "golden");
    for (size_t i = 0; i < g->golden.cases.n; i++) {
        chosen[i] = g->golden.now[i].differs && (!asks || is_accepted(&g->golden.report.cases[i]));
        g->n_chosen += chosen[i];
    }
    *ret = chosen;
    return 0;
}

/* A nested repository or a task of an editor is no less one because it lies among expected files:
 * what others execute is left out as by `apply`, and its case stays as it is until it is named. */
static int apply_kept(struct golden_call *g, bool *ret_whole, sbr_error *err)
{
    struct apply_report report = { 0 };
    struct changeset changeset;
    int r = changeset_open(g->golden.changes_id, &changeset, err);

    if (r < 0)
        return r;
    r = changesets_record("apply", &changeset, err);
    if (r == 0)
        r = apply(&changeset, &(struct apply_options){ 0 }, &report, err);
    *ret_whole = report.n_left_out == 0;
    if (r == 0 || report.conflicts.n) {
        struct options quiet = *g->o;

        quiet.json = false; /* stdout has the report of the cases */
        r = changesets_report(&quiet, &changeset, &report, "applied", NULL);
    }
    apply_report_done(&report);
    changeset_close(&changeset);
    return r;
}

/* Without a terminal and without --yes the changes are kept, and nothing is written. */
static int update(struct golden_call *g, int *status, sbr_error *err)
{
    bool asks = !g->own->yes && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    scoped_free bool *chosen = NULL;
    bool whole = false;
    int r = choose(g, asks, &chosen, err);

    if (r == 0 && g->n_chosen)
        r = golden_keep(g->rt, &g->golden, chosen, err);
    if (r < 0 || !g->golden.changes_id[0])
        return r;
    if (!asks && !g->own->yes) {
        fprintf(stderr, "sandbox-run: `sandbox-run apply %.*s` makes the cases expect this\n",
                PRESENT_ID, g->golden.changes_id);
        return 0;
    }
    r = apply_kept(g, &whole, err);
    if (r == 0 && whole && g->n_chosen == test_report_count(&g->golden.report, CASE_FAILED) &&
        !test_report_count(&g->golden.report, CASE_BROKEN))
        *status = 0;
    else if (r > 0)
        *status = r;
    return r < 0 ? r : 0;
}

static int run_cases(struct golden_call *g, sbr_error *err)
{
    const sbr_golden how = { .struct_size = sizeof(how), .dir = g->dir, .jobs = g->jobs };

    if (read_options(g, err) < 0 || make_request(g, err) < 0 ||
        runner_open(RUNNER_LONG, g->o->cold, &g->rt, err) < 0)
        return err->code;
    return golden_run(g->rt, g->o->request, &how, &g->golden, err);
}

static int run_golden(struct options *o)
{
    struct golden_call g = { .o = o, .own = o->own };
    sbr_error err;
    int status = 1;

    if (run_cases(&g, &err) < 0) {
        status = cli_fail(o, &err);
    } else {
        status = golden_succeeded(&g.golden) ? 0 : 1;
        if ((g.own->update && update(&g, &status, &err) < 0) || print(&g, &err) < 0)
            status = cli_fail(o, &err);
    }
    golden_done(&g.golden);
    sbr_runtime_close(g.rt);
    return status;
}

const struct command cmd_golden = {
    .name = "golden",
    .usage = "[OPTIONS] DIR",
    .help = "run commands, and compare output and files with those expected",
    .examples =
        "Examples:\n"
        "  sandbox-run golden tests/golden            the cases of a directory\n"
        "  sandbox-run golden --update tests/golden   shows each difference, asks, writes\n"
        "  sandbox-run golden --format junit tests/golden > report.xml\n\n"
        "A case is a directory with `command`, and with `stdin`, `stdout`, `stderr`, `status`,\n"
        "`input/` and `tree/` as far as they are needed.  The current directory, or --project, is\n"
        "/work, copy-on-write.  The status is 0 when every case is as expected, otherwise 1.\n",
    .own_size = sizeof(struct golden_options),
    .options = (const struct option *const[]){ own_options, options_tools, options_trees,
                                               options_network, options_isolation, options_json,
                                               options_max_chars, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = run_golden,
};
