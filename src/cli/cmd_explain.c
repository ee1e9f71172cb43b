/* explain: of a result or plan that was saved, or of the plan of a program. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "cli/source.h"
#include "explain/ending.h"
#include "lib/runner.h"

#define RECORD_MAX (256UL * 1024 * 1024)

/* It begins as a JSON object; no program does. */
static bool looks_like_record(const char *data, size_t len)
{
    size_t i = 0;

    while (i < len && isspace((unsigned char)data[i]))
        i++;
    return i < len && data[i] == '{';
}

static bool names_a_program(const struct options *o)
{
    return o->lang || o->code || o->files.n || o->request_path || o->template || o->rest;
}

/* 1: *ret is a record; 0: it is a program. */
static int read_record(const struct options *o, char **ret, size_t *ret_len, sbr_error *err)
{
    const char *path = o->n_positional ? o->positional[0] : "-";
    scoped_fd int fd = -1;
    int from = STDIN_FILENO;
    char start[64];
    ssize_t n;

    if (names_a_program(o) || o->n_positional > 1)
        return 0;
    if (strcmp(path, "-") != 0) {
        fd = from = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        n = fd < 0 ? -1 : pread(fd, start, sizeof(start), 0);
        /* A pipe is no program.  Of what is neither, source_load reports what is wrong. */
        if (n < 0 ? errno != ESPIPE : !looks_like_record(start, (size_t)n))
            return 0;
    } else if (isatty(STDIN_FILENO)) {
        return err_set(err, SBR_E_INVALID, "explain",
                       "give a result, a plan or a program: `sandbox-run explain result.json`");
    }
    return fd_read_text(from, RECORD_MAX, ret, ret_len, err) < 0 ? err->code : 1;
}

static int make_plan(struct options *o, char **ret, sbr_error *err)
{
    sbr_runtime *runtime = NULL;
    struct source source;
    struct plan *plan;
    int r = source_load(o, &source, err);

    if (r == 0)
        r = runner_open(RUNNER_PLAN, false, &runtime, err);
    if (r == 0)
        r = runner_plan(runtime, o->request, &plan, err);
    if (r == 0) {
        *ret = plan_to_json(plan, false);
        plan_free(plan);
    }
    sbr_runtime_close(runtime);
    return r == 0 && !*ret ? err_set_oom(err, "explain") : r;
}

static int explain_text(const char *text, size_t len, const struct options *o, sbr_error *err)
{
    sbr_error fault;
    json_t *record = json_read(text, len, &json_read_answer, JSON_ALLOW_NUL, "the record", &fault);
    json_t *explanation = record ? explain_record(record) : NULL;
    int r = 0;

    if (!record)
        r = err_set(err, SBR_E_INVALID, "explain", "%s", fault.message);
    else if (!explanation)
        r = err_set(err, SBR_E_INVALID, "explain",
                    "this is neither a result (of --json) nor a plan (of `plan --json`)");
    else if (o->json)
        r = json_dumpf(explanation, stdout, present_has_lines() ? JSON_INDENT(2) : JSON_COMPACT) <
                        0 ||
                    putchar('\n') < 0
                ? err_set_errno(err, "explain", "cannot write to stdout")
                : 0;
    else
        explain_print(explanation, o);
    json_decref(explanation);
    json_decref(record);
    return r;
}

static int explain_run(struct options *o)
{
    scoped_free char *text = NULL;
    size_t len = 0;
    sbr_error err;
    int r = read_record(o, &text, &len, &err);

    if (r == 0) {
        r = make_plan(o, &text, &err);
        len = text ? strlen(text) : 0;
    }
    if (r < 0 || explain_text(text, len, o, &err) < 0)
        return cli_fail(o, &err);
    return 0;
}

const struct command cmd_explain = {
    .name = "explain",
    .usage = "[OPTIONS] [RESULT | PLAN | FILE | DIR | -] [-- ARG...]",
    .help = "say what a run may use, what was refused, by which rule, and what would allow it",
    .examples = "Examples:\n"
                "  sandbox-run --json job.py > result.json; sandbox-run explain result.json\n"
                "  sandbox-run --json job.py | sandbox-run explain\n"
                "  sandbox-run explain --network allow --allow-host example.org:443 job.py\n",
    .options =
        (const struct option *const[]){ options_program, options_language_file, options_trees,
                                        options_network, options_isolation, options_report,
                                        options_look, options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = explain_run,
};
