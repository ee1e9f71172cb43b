#include "work/profile.h"

#include <poll.h>
#include <string.h>

#include "base/jsonw.h"
#include "work/function_samples.h"
#include "work/functions.h"

#define SAMPLE_MS 10

/* Events come while anything runs, so a caller who stops is noticed by the next one. */
static void take_event(void *context, const sbr_event *event)
{
    struct profile *p = context;
    struct pollfd stop = { .fd = p->how->stop_fd ? p->how->stop_fd : -1, .events = POLLIN };

    if (event->type != SBR_EVENT_METRICS)
        return;
    if (poll(&stop, 1, 0) == 1)
        sbr_job_cancel(p->job);
    if (event->stage && !strcmp(event->stage, "run") && !p->failure.code)
        (void)!series_add(&p->series, event->metrics, &p->failure);
}

static int finish(struct profile *p, bool counts, sbr_error *err)
{
    sbr_result *result = NULL;
    int r = sbr_job_finish(p->job, &result, err);

    if (r == 0)
        r = measure_check(&p->program, p->hooks, result, err);
    if (r == 0 && counts) {
        p->good += result_success(result);
        r = measure_add(&p->program, result, err);
    }
    sbr_result_free(result);
    return r;
}

static int run_once(sbr_runtime *rt, struct profile *p, bool counts, sbr_error *err)
{
    int r;

    series_done(&p->series);
    if (sbr_job_start(rt, p->program.req, &p->job, err) < 0)
        return err->code;
    sbr_job_on_event(p->job, take_event, p);
    sbr_job_set_metrics_every(p->job, SAMPLE_MS);
    r = finish(p, counts, err);
    sbr_job_free(p->job);
    if (r == 0 && p->failure.code)
        *err = p->failure;
    return r == 0 ? p->failure.code : r;
}

int profile_run(sbr_runtime *rt, const sbr_profile *how, const struct measure_hooks *hooks,
                struct profile *p, sbr_error *err)
{
    p->how = how;
    p->hooks = hooks;
    if (how->struct_size != sizeof(*how))
        return err_set(err, SBR_E_INVALID, "profile", "struct_size of the profile is not set");
    if (measure_check_request(p->program.req, err) < 0 ||
        measure_count(how->repeat, how->warm_up, &p->repeat, err) < 0)
        return err->code;
    for (unsigned int i = 0; i < how->warm_up + p->repeat; i++)
        if (run_once(rt, p, i >= how->warm_up, err) < 0)
            return err->code;
    return 0;
}

void profile_put_fields(struct jsonw *j, struct profile *p)
{
    jsonw_text(j, "program", measure_name(&p->program));
    jsonw_text(j, "language", p->program.req->language);
    jsonw_number(j, "runs", p->repeat);
    jsonw_number(j, "succeeded", p->good);
    measure_put_json(j, &p->program);
    series_put_json(j, "over_time", &p->series);
}

void profile_done(struct profile *p)
{
    series_done(&p->series);
    measure_done(&p->program);
}

static int sample_functions(sbr_runtime *rt, const struct profile *p, struct functions *ret,
                            sbr_error *err)
{
    char *text = NULL;
    size_t len = 0;

    if (!p->how->functions)
        return 0;
    if (function_samples_take(rt, p->program.req, p->how->stop_fd, &text, &len, err) < 0)
        return err->code;
    return functions_read(text, len, ret, err);
}

int sbr_profile_run(sbr_runtime *rt, const sbr_request *req, const sbr_profile *how, char **ret,
                    sbr_error *err)
{
    struct profile p = { .program = { .req = req } };
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct functions functions = { 0 };
    struct jsonw j;
    int r;

    if (!rt || !req || !how || !ret)
        return err_set(e, SBR_E_INVALID, "profile", "an argument is missing");
    r = profile_run(rt, how, NULL, &p, e);
    if (r == 0)
        r = sample_functions(rt, &p, &functions, e);
    if (r == 0) {
        jsonw_init(&j, false);
        jsonw_open(&j, NULL, '{');
        profile_put_fields(&j, &p);
        if (how->functions)
            functions_put_json(&j, "functions", &functions);
        jsonw_close(&j, '}');
        *ret = jsonw_take(&j);
    }
    functions_done(&functions);
    profile_done(&p);
    return r < 0 ? r : *ret ? 0 : err_set_oom(e, "profile");
}
