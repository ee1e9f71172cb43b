/* test: the tests of a project, in the sandbox, case by case. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "lib/runner.h"
#include "work/test_runner.h"

#define DEFAULT_WALL_MS 600000 /* suites take longer than programs */

struct test_options {
    const char *runner, *format;
};

static const char *format_word(size_t i)
{
    static const char *const words[] = { "text", "json", "junit", "tap" };

    return i < sizeof(words) / sizeof(*words) ? words[i] : NULL;
}

/* clang-format off */
static const struct option own_options[] = {
    { 0, "runner", "NAME", "which runner; without it, the files of the directory decide",
      OPTION_OWN(struct test_options, runner), .word = test_runner_name },
    { 0, "format", "FORM", "what is printed: text, json, junit or tap",
      OPTION_OWN(struct test_options, format), .word = format_word },
    { 0 },
};
/* clang-format on */

struct test_run {
    struct options *o;
    const struct test_options *own;
    const struct test_runner *runner;
    sbr_runtime *rt;
    char dir[PATH_MAX];                                  /* the project */
    char folder[sizeof("/tmp/sandbox-run-test-XXXXXX")]; /* of the report; empty: none */
    sbr_result *result;
    struct report report;
};

static int find_project(struct test_run *t, sbr_error *err)
{
    const char *word = t->o->n_positional ? t->o->positional[0] : ".";
    scoped_fd int fd = -1;

    if (t->o->n_positional > 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "name one directory; what follows `--` goes to the runner");
    if (!realpath(word, t->dir))
        return err_set_errno(err, "test", "cannot find '%.200s'", word);
    fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "test", "cannot open '%.200s'", word);
    return test_runner_find(fd, t->own->runner, &t->runner, err);
}

/* Where the file with the report is copied to. */
static int make_folder(struct test_run *t, sbr_error *err)
{
    scoped_free char *spec = NULL;

    if (t->runner->where != REPORT_IN_FILE)
        return 0;
    memcpy(t->folder, "/tmp/sandbox-run-test-XXXXXX", sizeof(t->folder));
    if (!mkdtemp(t->folder)) {
        t->folder[0] = '\0';
        return err_set_errno(err, "test", "cannot make a directory for the report");
    }
    if (asprintf(&spec, "%s:%s", TEST_RUNNER_REPORT, t->folder) < 0)
        return err_set_oom(err, "test");
    return request_add_output(t->o->request, spec, err);
}

static int make_request(struct test_run *t, sbr_error *err)
{
    sbr_request *req = t->o->request;

    req->command = req->complete = true;
    if (!(req->limits.given & (1u << SBR_WALL_MS)) &&
        limits_set(&req->limits, SBR_WALL_MS, DEFAULT_WALL_MS, err) < 0)
        return err->code;
    if (request_set_text(&req->language, t->runner->language, err) < 0 ||
        (!req->project && request_set_project(req, t->dir, err) < 0) || make_folder(t, err) < 0)
        return err->code;
    for (const char *const *word = t->runner->words; *word; word++)
        if (request_add_arg(req, *word, err) < 0)
            return err->code;
    for (char **word = t->o->rest; word && *word; word++)
        if (request_add_arg(req, *word, err) < 0)
            return err->code;
    return settings_apply(t->o, err);
}

static bool lacks_runner(const struct test_run *t)
{
    const sbr_report *report = sbr_result_report(t->result);

    return t->runner->missing && report->errout_len &&
           memmem(report->errout, report->errout_len, t->runner->missing,
                  strlen(t->runner->missing));
}

/* A runner that the machine does not have is installed, once, as a package. */
static int run(struct test_run *t, sbr_error *err)
{
    sbr_result *first = NULL;

    if (runner_open(RUNNER_ONCE, t->o->cold, &t->rt, err) < 0 ||
        sbr_run(t->rt, t->o->request, &t->result, err) < 0)
        return err->code;
    if (!lacks_runner(t))
        return 0;
    if (!t->o->quiet)
        fprintf(stderr, "sandbox-run: installing %s\n", t->runner->package);
    first = take_ptr(t->result);
    sbr_result_free(first);
    if (request_add_dep(t->o->request, t->runner->package, err) < 0)
        return err->code;
    return sbr_run(t->rt, t->o->request, &t->result, err);
}

static int read_file(struct test_run *t, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *path = NULL;

    if (asprintf(&path, "%s/%s", t->folder, TEST_RUNNER_REPORT) < 0)
        return err_set_oom(err, "test");
    if (access(path, F_OK) < 0)
        return 0; /* the runner did not get so far */
    return source_read_path(path, ret, ret_len, err);
}

static int read_report(struct test_run *t, sbr_error *err)
{
    const sbr_report *report = sbr_result_report(t->result);
    bool on_stderr = t->runner->where == REPORT_ON_STDERR;
    const char *text = on_stderr ? report->errout : report->out;
    size_t len = on_stderr ? report->errout_len : report->out_len;
    scoped_free char *file = NULL;

    if (!t->runner->parse)
        return 0;
    if (t->runner->where == REPORT_IN_FILE) {
        len = 0;
        if (read_file(t, &file, &len, err) < 0)
            return err->code;
        text = file;
    }
    return text && len ? t->runner->parse(text, len, &t->report, err) : 0;
}

static void show_case(const struct report_case *c)
{
    printf("%-7s %s", test_report_outcome_name(c->outcome), c->name);
    if (c->timed)
        printf("  %" PRIu64 " ms", c->time_us / 1000);
    if (c->file)
        printf("  %s:%u", c->file, c->line);
    putchar('\n');
    for (const char *line = c->message; line && *line;) {
        size_t len = strcspn(line, "\n");

        printf("        %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

/* What the runner printed; a terminal gets no control sequences but colours and moves. */
static void show_output(const struct options *o, FILE *to, const char *data, size_t len)
{
    struct terminal_filter filter = { 0 };
    struct buf out;

    if (o->raw || !isatty(fileno(to))) {
        fwrite(data, 1, len, to);
        return;
    }
    buf_init(&out, SIZE_MAX / 2);
    terminal_clean(&filter, data, len, &out);
    fwrite(out.data, 1, out.len, to);
    buf_done(&out);
}

/* Failed cases first: they are what one reads. */
static void print_text(const struct test_run *t)
{
    const struct report *r = &t->report;
    const sbr_report *run = sbr_result_report(t->result);

    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].outcome == CASE_FAILED || r->cases[i].outcome == CASE_BROKEN)
            show_case(&r->cases[i]);
    for (size_t i = 0; t->o->verbose && i < r->n; i++)
        if (r->cases[i].outcome == CASE_PASSED || r->cases[i].outcome == CASE_SKIPPED)
            show_case(&r->cases[i]);
    if (!r->n || run->verdict != SBR_EXITED) {
        show_output(t->o, stdout, run->out, run->out_len);
        show_output(t->o, stderr, run->errout, run->errout_len);
        present_result(t->result, t->o, PRESENT_HELP);
    }
    printf("%s: %zu passed, %zu failed, %zu skipped in %" PRIu64 ".%" PRIu64 " s\n",
           t->runner->name, test_report_count(r, CASE_PASSED),
           test_report_count(r, CASE_FAILED) + test_report_count(r, CASE_BROKEN),
           test_report_count(r, CASE_SKIPPED), run->wall_us / 1000000, run->wall_us / 100000 % 10);
}

static void put_counts(struct jsonw *j, const struct report *r)
{
    jsonw_open(j, "summary", '{');
    for (size_t i = 0; i < N_CASE_OUTCOMES; i++)
        jsonw_number(j, test_report_outcome_name((enum case_outcome)i),
                     test_report_count(r, (enum case_outcome)i));
    jsonw_close(j, '}');
}

static int print_json(const struct test_run *t, sbr_error *err)
{
    scoped_free char *run = sbr_result_to_json(t->result);
    struct jsonw j;

    if (!run)
        return err_set_oom(err, "test");
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "runner", t->runner->name);
    put_counts(&j, &t->report);
    test_report_put_json(&j, "cases", &t->report);
    buf_add_text(&j.out, ",");
    buf_add_text(&j.out, run + 1);
    present_json(&j);
    return 0;
}

static int print(const struct test_run *t, sbr_error *err)
{
    const char *format = t->own->format ? t->own->format : t->o->json ? "json" : "text";
    struct buf out;

    if (!strcmp(format, "json"))
        return print_json(t, err);
    if (!strcmp(format, "text")) {
        print_text(t);
        return 0;
    }
    buf_init(&out, SIZE_MAX / 2);
    if (!strcmp(format, "junit"))
        test_report_write_junit(&t->report, t->runner->name, &out);
    else
        test_report_write_tap(&t->report, &out);
    if (!out.failed)
        fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    return 0;
}

static int check_format(const struct test_run *t, sbr_error *err)
{
    for (size_t i = 0; t->own->format && format_word(i); i++)
        if (!strcmp(t->own->format, format_word(i)))
            return 0;
    return t->own->format
               ? err_set(err, SBR_E_INVALID, "options",
                         "--format '%.40s' is none of text, json, junit and tap", t->own->format)
               : 0;
}

/* 1 when a case failed, or when the runner itself did not succeed. */
static int status_of(const struct test_run *t)
{
    const struct report *r = &t->report;

    return result_success(t->result) && !test_report_count(r, CASE_FAILED) &&
                   !test_report_count(r, CASE_BROKEN)
               ? 0
               : 1;
}

static int test_run(struct options *o)
{
    struct test_run t = { .o = o, .own = o->own };
    sbr_error err;
    int status;

    if (check_format(&t, &err) < 0 || find_project(&t, &err) < 0 || make_request(&t, &err) < 0 ||
        run(&t, &err) < 0 || read_report(&t, &err) < 0 || print(&t, &err) < 0)
        status = cli_fail(o, &err);
    else
        status = status_of(&t);
    if (t.folder[0])
        (void)tree_remove(AT_FDCWD, t.folder);
    sbr_result_free(t.result);
    sbr_runtime_close(t.rt);
    test_report_done(&t.report);
    return status;
}

const struct command cmd_test = {
    .name = "test",
    .usage = "[OPTIONS] [DIR] [-- ARG...]",
    .help = "run a project's tests in the sandbox and report each case",
    .examples =
        "Examples:\n"
        "  sandbox-run test                     the tests of this directory\n"
        "  sandbox-run test --format junit project/ > report.xml\n"
        "  sandbox-run test --dep requests --timeout 5m . -- -k login\n\n"
        "A directory named `test` is run as ./test.  The project is copy-on-write: nothing in it "
        "changes.\nThe status is 0 when every case passed or was skipped, otherwise 1.\n",
    .own_size = sizeof(struct test_options),
    .options =
        (const struct option *const[]){ own_options, options_tools, options_trees, options_network,
                                        options_isolation, options_json, options_config,
                                        options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = test_run,
};
