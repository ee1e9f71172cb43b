#include "work/golden.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/scope.h"
#include "work/build_artifacts.h"
#include "work/golden_compare.h"
#include "work/normalize.h"
#include "work/run_alone.h"

#define MOST_MESSAGE (1 << 20)

/* One run of a case: the request borrows from the case and from what all share. */
struct golden_job {
    sbr_request req;
    struct request_file *files; /* those of the case and of all; the texts are borrowed */
    size_t index;
};

struct golden_work {
    const sbr_request *base;
    struct golden *golden;
    struct golden_job *jobs;
    size_t next;
    int r;
    sbr_error err;
};

/* Whatever the command writes is compared. */
static const struct build_tool everything = { .name = "golden",
                                              .places = (const char *const[]){ "", NULL } };

/* Outside of copy-on-write trees it is not known what is new: then all files are collected. */
static void set_places(sbr_request *req, bool wanted)
{
    static struct output_rule all = { .pattern = (char *)"/work/**" };

    req->keep = wanted;
    req->diff = wanted && req->project;
    if (wanted && !req->project)
        req->outputs = (struct output_rules){ &all, 1 };
}

static int add_inputs(struct golden_job *job, const struct golden_case *c, sbr_error *err)
{
    sbr_request *req = &job->req;

    if (!c->n_inputs)
        return 0;
    job->files = calloc(req->n_files + c->n_inputs, sizeof(*job->files));
    if (!job->files)
        return err_set_oom(err, "golden");
    if (req->n_files)
        memcpy(job->files, req->files, req->n_files * sizeof(*job->files));
    memcpy(job->files + req->n_files, c->inputs, c->n_inputs * sizeof(*job->files));
    req->files = job->files;
    req->n_files += c->n_inputs;
    return 0;
}

static int make_request(struct golden_work *w, size_t index, sbr_error *err)
{
    const struct golden_case *c = &w->golden->cases.items[index];
    sbr_request *req = &w->jobs[index].req;
    const char *const words[] = { "sh", "-c", c->command };

    w->jobs[index].index = index;
    *req = *w->base;
    req->args = (struct string_list){ 0 };
    req->command = req->complete = true;
    req->stdin_data = c->input.data;
    req->stdin_len = c->input.len;
    set_places(req, c->has_tree || !golden_case_is_known(c));
    if (add_inputs(&w->jobs[index], c, err) < 0)
        return err->code;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (string_list_add(&req->args, words[i], err) < 0)
            return err->code;
    return 0;
}

static int next(void *context, const sbr_request **ret, void **ret_item)
{
    struct golden_work *w = context;

    if (w->r < 0 || w->next == w->golden->cases.n)
        return 0;
    w->r = make_request(w, w->next, &w->err);
    *ret = &w->jobs[w->next].req;
    *ret_item = &w->jobs[w->next++];
    return w->r < 0 ? 0 : 1;
}

static int take_text(const struct golden_case *c, const char *data, size_t len,
                     struct golden_text *ret, sbr_error *err)
{
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    buf_add_text(&out, "");
    if (len && memchr(data, '\0', len))
        buf_add(&out, data, len);
    else if (len)
        (void)normalize_text(c->normalizers, data, len, &out);
    if (out.failed) {
        buf_done(&out);
        return err_set_oom(err, "golden");
    }
    ret->data = buf_take(&out, &ret->len);
    return 0;
}

static int take_tree(const struct golden_case *c, const sbr_request *req, const sbr_result *result,
                     struct golden_now *now, sbr_error *err)
{
    struct build_artifacts made = { 0 };
    int r = build_artifacts_read(&everything, req, result, &made, err);

    if (r == 0)
        r = build_artifacts_load(&made, &now->tree, &now->n_tree, err);
    build_artifacts_done(&made);
    for (size_t i = 0; r == 0 && i < now->n_tree; i++) {
        struct golden_text text = { 0 };

        r = take_text(c, now->tree[i].data, now->tree[i].len, &text, err);
        if (r == 0) {
            free(now->tree[i].data);
            now->tree[i].data = text.data;
            now->tree[i].len = text.len;
        }
    }
    return r;
}

static int read_now(const struct golden_case *c, const sbr_request *req, const sbr_result *result,
                    struct golden_now *now, sbr_error *err)
{
    const sbr_report *report = sbr_result_report(result);

    now->status = report->exit_code;
    if (report->out_tail || report->errout_tail)
        return err_set(err, SBR_E_INVALID, "golden",
                       "the command writes more than a result keeps; write to a file instead");
    if (take_text(c, report->out, report->out_len, &now->out, err) < 0 ||
        take_text(c, report->errout, report->errout_len, &now->err, err) < 0)
        return err->code;
    return result->changes_id[0] ? take_tree(c, req, result, now, err) : 0;
}

static int judge(struct golden *g, const struct golden_job *job, const sbr_result *result,
                 sbr_error *err)
{
    const struct golden_case *c = &g->cases.items[job->index];
    struct report_case *shown = &g->report.cases[job->index];
    struct golden_now *now = &g->now[job->index];
    struct buf message;
    int r;

    buf_init(&message, MOST_MESSAGE);
    if (result->verdict != SBR_EXITED) {
        shown->outcome = CASE_BROKEN;
        buf_printf(&message, "%s%s%s", result_verdict_name(result->verdict),
                   result->explanation[0] ? ": " : "", result->explanation);
        r = 0;
    } else {
        r = read_now(c, &job->req, result, now, err);
        if (r == 0)
            r = golden_compare(c, now, &message, err);
        now->differs = r == 0 && message.len;
        shown->outcome = message.len ? CASE_FAILED : CASE_PASSED;
    }
    if (r == 0 && message.len)
        r = test_report_set_message(&g->report, shown, message.data, message.len, err);
    buf_done(&message);
    return r;
}

/* A case that could not run is broken; that is no reason to leave the others out. */
static int note_end(struct golden_work *w, const struct golden_job *job, const sbr_result *result,
                    const sbr_error *why, sbr_error *err)
{
    struct report_case *shown = &w->golden->report.cases[job->index];
    sbr_error fault = why ? *why : (sbr_error){ 0 };

    if (result) {
        shown->time_us = sbr_result_report(result)->wall_us;
        shown->timed = true;
        if (judge(w->golden, job, result, &fault) == 0)
            return 0;
    }
    shown->outcome = CASE_BROKEN;
    return test_report_set_message(&w->golden->report, shown, fault.message, strlen(fault.message),
                                   err);
}

static void done(void *context, void *item, sbr_result *result, const sbr_error *err)
{
    struct golden_work *w = context;
    struct golden_job *job = item;

    if (w->r == 0)
        w->r = note_end(w, job, result, err, &w->err);
    if (result && result->changes_id[0])
        (void)sbr_changes_drop(result->changes_id, NULL);
    sbr_result_free(result);
    string_list_done(&job->req.args);
    free(job->files);
}

static int run_all(sbr_runtime *rt, const sbr_request *base, const sbr_golden *how,
                   struct golden *g, sbr_error *err)
{
    struct golden_work w = { .base = base, .golden = g };
    const sbr_batch batch = { .struct_size = sizeof(batch),
                              .jobs = base->workspace ? 1 : how->jobs,
                              .first_alone = base->deps.n > 0,
                              .stop_fd = how->stop_fd,
                              .context = &w,
                              .next = next,
                              .done = done };
    int r;

    w.jobs = calloc(g->cases.n, sizeof(*w.jobs));
    if (!w.jobs)
        return err_set_oom(err, "golden");
    r = sbr_batch_run(rt, &batch, err);
    if (r == 0 && w.r < 0) {
        *err = w.err;
        r = w.r;
    }
    free(w.jobs);
    return r;
}

/* The rest of the path below the directory; NULL: it is not below it. */
static const char *rest_below(const char *path, const char *dir)
{
    size_t len = dir ? strlen(dir) : 0;

    if (!dir || strncmp(path, dir, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path + len + strspn(path + len, "/");
}

/* What the project leaves out, it leaves out of its cases as well. */
static int load_directory(const sbr_request *base, struct golden *g, sbr_error *err)
{
    const char *top = rest_below(g->dir, base->project);
    struct project_tree tree;
    int r = project_file_begin(top ? base->project : g->dir, base, "golden", &tree, err);

    if (r == 0)
        r = golden_cases_load(&tree, top ? top : "", &g->cases, err);
    project_file_end(&tree);
    return r;
}

static int load(const sbr_request *base, const sbr_golden *how, struct golden *g, sbr_error *err)
{
    if (how->struct_size != sizeof(*how) || !how->dir == !how->cases ||
        (how->dir && how->dir[0] != '/') || (how->update && !how->dir))
        return err_set(err, SBR_E_INVALID, "golden",
                       "set struct_size, and either a directory, which is absolute, or cases");
    if (how->cases)
        return golden_cases_parse(how->cases, &g->cases, err);
    g->dir = strdup(how->dir);
    return g->dir ? load_directory(base, g, err) : err_set_oom(err, "golden");
}

static int begin(const sbr_request *base, const sbr_golden *how, struct golden *g, sbr_error *err)
{
    if (load(base, how, g, err) < 0)
        return err->code;
    g->now = calloc(g->cases.n, sizeof(*g->now));
    if (!g->now)
        return err_set_oom(err, "golden");
    for (size_t i = 0; i < g->cases.n; i++) {
        struct report_case *c = test_report_add(&g->report, NULL, g->cases.items[i].name, err);

        if (!c)
            return err->code;
        c->outcome = CASE_SKIPPED; /* until it has run */
    }
    return 0;
}

int golden_run(sbr_runtime *rt, const sbr_request *base, const sbr_golden *how, struct golden *ret,
               sbr_error *err)
{
    struct golden g = { 0 };
    int r = begin(base, how, &g, err);

    if (r == 0)
        r = run_all(rt, base, how, &g, err);
    if (r == 0 && how->update)
        r = golden_keep(rt, &g, NULL, err);
    if (r < 0)
        golden_done(&g);
    else
        *ret = g;
    return r;
}

static void files_done(struct request_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(files[i].path);
        free(files[i].data);
    }
    free(files);
}

void golden_done(struct golden *golden)
{
    for (size_t i = 0; golden->now && i < golden->cases.n; i++) {
        free(golden->now[i].out.data);
        free(golden->now[i].err.data);
        files_done(golden->now[i].tree, golden->now[i].n_tree);
    }
    free(golden->now);
    golden_cases_done(&golden->cases);
    test_report_done(&golden->report);
    free(golden->dir);
    *golden = (struct golden){ 0 };
}

/* The expected files are written by a run of their own, with their directory copy-on-write: so they
 * become kept changes like any other, with the rules of `apply` and its undo. */
static int write_inside(sbr_runtime *rt, const struct golden *g, const struct buf *script,
                        sbr_result **ret, sbr_error *err)
{
    static const char *const words[] = { "sh", "-s" };
    sbr_request *req = NULL;
    int r = request_new(NULL, NULL, &req, err);

    if (r == 0)
        r = request_set_project(req, g->dir, err);
    for (size_t i = 0; r == 0 && i < sizeof(words) / sizeof(*words); i++)
        r = request_add_arg(req, words[i], err);
    if (r == 0)
        r = request_set_stdin(req, script->data, script->len, err);
    if (r == 0) {
        req->keep = req->diff = true;
        r = run_alone(rt, req, 0, ret, err);
    }
    request_free(req);
    return r;
}

int golden_keep(sbr_runtime *rt, struct golden *golden, const bool *chosen, sbr_error *err)
{
    sbr_result *result = NULL;
    struct buf script;
    int r = 0;

    buf_init(&script, REQUEST_MAX_BYTES);
    for (size_t i = 0; i < golden->cases.n; i++)
        if (golden->now[i].differs && (!chosen || chosen[i]))
            golden_script(&golden->cases.items[i], &golden->now[i], &script);
    if (script.failed)
        r = err_set_oom(err, "golden");
    else if (script.len)
        r = write_inside(rt, golden, &script, &result, err);
    if (r == 0 && result && !result_success(result))
        r = err_set(err, SBR_E_SYSTEM, "golden", "the expected files could not be written: %.300s",
                    result->report.errout ? result->report.errout : result->explanation);
    else if (r == 0 && result)
        memcpy(golden->changes_id, result->changes_id, sizeof(golden->changes_id));
    sbr_result_free(result);
    buf_done(&script);
    return r;
}

bool golden_succeeded(const struct golden *golden)
{
    return test_report_count(&golden->report, CASE_PASSED) == golden->report.n;
}

char *golden_to_json(const struct golden *golden)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_bool(&j, "success", golden_succeeded(golden));
    jsonw_open(&j, "summary", '{');
    for (size_t i = 0; i < N_CASE_OUTCOMES; i++)
        jsonw_number(&j, test_report_outcome_name((enum case_outcome)i),
                     test_report_count(&golden->report, (enum case_outcome)i));
    jsonw_close(&j, '}');
    test_report_put_json(&j, "cases", &golden->report);
    jsonw_text(&j, "changes_id", golden->changes_id[0] ? golden->changes_id : NULL);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

int sbr_golden_run(sbr_runtime *rt, const sbr_request *base, const sbr_golden *how, char **ret,
                   sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct golden golden;
    int r;

    if (!rt || !base || !how || !ret)
        return err_set(e, SBR_E_INVALID, "golden", "an argument is missing");
    r = golden_run(rt, base, how, &golden, e);
    if (r < 0)
        return r;
    *ret = golden_to_json(&golden);
    golden_done(&golden);
    return *ret ? 0 : err_set_oom(e, "golden");
}
