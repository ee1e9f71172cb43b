#include "work/tested.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "model/result.h"
#include "work/case_denials.h"
#include "work/run_alone.h"
#include "work/test_select.h"
#include "work/work_limits.h"

#define MOST_REPORT (64u << 20)

/* Where the file with the report is copied to. */
static int make_folder(struct tested *t, sbr_request *req, sbr_error *err)
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
    return request_add_output(req, spec, err);
}

int tested_prepare(struct tested *t, const struct test_runner *runner, sbr_request *req,
                   char **more, sbr_error *err)
{
    *t = (struct tested){ .runner = runner,
                          .stop_fd = t->stop_fd,
                          .installs_nothing = t->installs_nothing,
                          .installs = t->installs };
    req->command = runner->words != NULL;
    req->complete = true;
    req->of_project = req->command;
    if (work_limits_set(&req->limits, err) < 0 ||
        request_set_text(&req->language, runner->language, err) < 0 || make_folder(t, req, err) < 0)
        return err->code;
    /* What the host has installed for Python is not seen beside the project's own packages. */
    if (runner->package && (!runner->missing || !strcmp(runner->language, "python")) &&
        !t->installs_nothing && request_add_dep(req, runner->package, err) < 0)
        return err->code;
    for (const char *const *word = runner->words; word && *word; word++)
        if (request_add_arg(req, *word, err) < 0)
            return err->code;
    for (char **word = more; word && *word; word++)
        if (request_add_arg(req, *word, err) < 0)
            return err->code;
    return 0;
}

static bool lacks_runner(const struct tested *t)
{
    const sbr_report *report = sbr_result_report(t->result);

    return t->runner->missing && report->errout_len &&
           memmem(report->errout, report->errout_len, t->runner->missing,
                  strlen(t->runner->missing));
}

static char *report_path(const struct tested *t)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", t->folder, TEST_RUNNER_REPORT) < 0 ? NULL : path;
}

static int read_file(struct tested *t, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *path = report_path(t);
    scoped_fd int fd = -1;

    if (!path)
        return err_set_oom(err, "test");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0; /* the runner did not get so far */
    return fd_read_text(fd, MOST_REPORT, ret, ret_len, err);
}

/* Where the report was on this machine is no part of the result. */
static void hide_report(struct output_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        if (strcmp(files->items[i].path, "/work/" TEST_RUNNER_REPORT) != 0)
            continue;
        free(files->items[i].path);
        free(files->items[i].saved);
        free(files->items[i].skipped);
        memmove(&files->items[i], &files->items[i + 1], (--files->n - i) * sizeof(files->items[0]));
        return;
    }
}

static int read_report(struct tested *t, sbr_error *err)
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

/* The last line of what the installer said. */
static char *last_words(const sbr_result *result)
{
    const sbr_result *part = run_alone_failed_part(result);
    const struct output *said = part->err.len ? &part->err : &part->out;
    size_t end = said->len, from;

    while (end && strchr(" \n", said->data[end - 1]))
        end--;
    for (from = end; from && said->data[from - 1] != '\n'; from--)
        ;
    return strndup(end ? said->data + from : "", end - from);
}

/* The tests may need no other packages than those of the machine: what could not be installed
 * counts only when no case passes without it.  Nothing of this is kept as a layer. */
static int run_without_packages(struct tested *t, sbr_runtime *rt, sbr_request *req, sbr_error *err)
{
    sbr_result *failed = take_ptr(t->result);
    int r;

    req->installs_nothing = true;
    r = run_alone(rt, req, t->stop_fd, &t->result, err);
    req->installs_nothing = false;
    if (r == 0)
        r = read_report(t, err);
    if (r == 0 && test_report_count(&t->report, CASE_PASSED)) {
        t->not_installed = last_words(failed);
        sbr_result_free(failed);
        return 0;
    }
    sbr_result_free(take_ptr(t->result));
    test_report_done(&t->report);
    t->result = failed;
    return r;
}

static int run(struct tested *t, sbr_runtime *rt, sbr_request *req, sbr_error *err)
{
    if (run_alone(rt, req, t->stop_fd, &t->result, err) < 0)
        return err->code;
    if (sbr_result_report(t->result)->verdict == SBR_INSTALL_FAILED && !req->deps.n &&
        strcmp(t->runner->language, "python") != 0)
        return run_without_packages(t, rt, req, err);
    if (t->installs_nothing || !lacks_runner(t))
        return 0;
    if (t->installs)
        t->installs(t->runner->package);
    sbr_result_free(take_ptr(t->result));
    if (request_add_dep(req, t->runner->package, err) < 0)
        return err->code;
    return run_alone(rt, req, t->stop_fd, &t->result, err);
}

/* What an earlier run left must not stand for this one's. */
static void forget(struct tested *t)
{
    scoped_free char *path = t->folder[0] ? report_path(t) : NULL;
    sbr_result *result = take_ptr(t->result);

    if (path)
        (void)unlink(path);
    sbr_result_free(result);
    free(take_ptr(t->not_installed));
    test_report_done(&t->report);
}

int tested_run(struct tested *t, sbr_runtime *rt, sbr_request *req, sbr_error *err)
{
    forget(t);
    if (run(t, rt, req, err) < 0)
        return err->code;
    hide_report(&t->result->files);
    if (!t->report.n && read_report(t, err) < 0)
        return err->code;
    return case_denials_note(&t->report, &t->result->denials, t->not_installed, err);
}

bool tested_passed(const struct tested *t)
{
    return result_success(t->result) && !test_report_count(&t->report, CASE_FAILED) &&
           !test_report_count(&t->report, CASE_BROKEN);
}

void tested_done(struct tested *t)
{
    if (t->folder[0])
        (void)tree_remove(AT_FDCWD, t->folder);
    sbr_result_free(t->result);
    free(t->not_installed);
    test_report_done(&t->report);
}

static void put_counts(struct jsonw *j, const struct report *r)
{
    jsonw_open(j, "summary", '{');
    for (size_t i = 0; i < N_CASE_OUTCOMES; i++)
        jsonw_number(j, test_report_outcome_name((enum case_outcome)i),
                     test_report_count(r, (enum case_outcome)i));
    jsonw_close(j, '}');
}

static void put_more(struct jsonw *j, const struct tested_rounds *t)
{
    if (t->measured)
        jsonw_fixed(j, "coverage_percent", t->percent, 3);
    else if (t->coverage)
        jsonw_null(j, "coverage_percent");
    if (t->repeat < 2)
        return;
    jsonw_number(j, "repeat", t->repeat);
    jsonw_open(j, "flaky", '[');
    for (size_t i = 0; i < t->report.n; i++)
        if (test_report_is_flaky(&t->report.cases[i]))
            jsonw_text(j, NULL, t->report.cases[i].name);
    jsonw_close(j, ']');
}

void tested_begin_rounds(struct tested_rounds *t)
{
    test_report_done(&t->report);
    t->failed = t->measured = false;
}

int tested_add_round(struct tested_rounds *t, sbr_error *err)
{
    const sbr_report *run = sbr_result_report(t->tested.result);

    t->failed |= !tested_passed(&t->tested);
    if (t->coverage)
        t->measured |= test_select_percent(t->coverage, run->out, run->out_len, &t->percent);
    if (t->repeat > 1)
        return test_report_merge(&t->report, &t->tested.report, err);
    t->report = t->tested.report;
    t->tested.report = (struct report){ 0 };
    return 0;
}

char *tested_rounds_to_json(const struct tested_rounds *t)
{
    scoped_free char *run = sbr_result_to_json(t->tested.result);
    struct jsonw j;

    if (!run)
        return NULL;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "runner", t->runner->name);
    put_counts(&j, &t->report);
    put_more(&j, t);
    test_report_put_json(&j, "cases", &t->report);
    buf_add_text(&j.out, ",");
    buf_add_text(&j.out, run + 1);
    return jsonw_take(&j);
}
