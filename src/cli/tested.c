#include "cli/tested.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "cli/source.h"
#include "lib/runner.h"

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
    *t = (struct tested){ .runner = runner, .stop_fd = -1 };
    req->command = runner->words != NULL;
    req->complete = true;
    if (!(req->limits.given & (1u << SBR_WALL_MS)) &&
        limits_set(&req->limits, SBR_WALL_MS, TESTED_WALL_MS, err) < 0)
        return err->code;
    if (request_set_text(&req->language, runner->language, err) < 0 || make_folder(t, req, err) < 0)
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

static void stop(void *context)
{
    sbr_job_cancel(context);
}

static int run_once(struct tested *t, sbr_runtime *rt, const sbr_request *req, sbr_error *err)
{
    sbr_job *job = NULL;
    int r;

    if (sbr_job_start(rt, req, &job, err) < 0)
        return err->code;
    r = t->stop_fd < 0 ? 0 : runner_watch(job, t->stop_fd, stop, job, err);
    if (r == 0)
        r = sbr_job_finish(job, &t->result, err);
    sbr_job_free(job);
    return r;
}

static int run(struct tested *t, sbr_runtime *rt, sbr_request *req, bool quiet, sbr_error *err)
{
    sbr_result *first = NULL;

    if (run_once(t, rt, req, err) < 0)
        return err->code;
    if (!lacks_runner(t))
        return 0;
    if (!quiet)
        fprintf(stderr, "sandbox-run: installing %s\n", t->runner->package);
    first = take_ptr(t->result);
    sbr_result_free(first);
    if (request_add_dep(req, t->runner->package, err) < 0)
        return err->code;
    return run_once(t, rt, req, err);
}

static char *report_path(const struct tested *t)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", t->folder, TEST_RUNNER_REPORT) < 0 ? NULL : path;
}

static int read_file(struct tested *t, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *path = report_path(t);

    if (!path)
        return err_set_oom(err, "test");
    if (access(path, F_OK) < 0)
        return 0; /* the runner did not get so far */
    return source_read_path(path, ret, ret_len, err);
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

/* What an earlier run left must not stand for this one's. */
static void forget(struct tested *t)
{
    scoped_free char *path = t->folder[0] ? report_path(t) : NULL;
    sbr_result *result = take_ptr(t->result);

    if (path)
        (void)unlink(path);
    sbr_result_free(result);
    test_report_done(&t->report);
}

int tested_run(struct tested *t, sbr_runtime *rt, sbr_request *req, bool quiet, sbr_error *err)
{
    forget(t);
    if (run(t, rt, req, quiet, err) < 0)
        return err->code;
    return read_report(t, err);
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
    test_report_done(&t->report);
}
