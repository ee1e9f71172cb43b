#include "work/measure.h"

#include <string.h>

#include "base/jsonw.h"
#include "plan/language.h"

int measure_count(unsigned int repeat, unsigned int warm_up, unsigned int *ret, sbr_error *err)
{
    if (repeat > MEASURE_MOST_RUNS || warm_up > MEASURE_MOST_RUNS)
        return err_set(err, SBR_E_INVALID, "measure", "a program is run at most %d times",
                       MEASURE_MOST_RUNS);
    *ret = repeat ? repeat : MEASURE_RUNS;
    return 0;
}

const char *measure_name(const struct measure *m)
{
    const sbr_request *req = m->req;
    const struct language *language = NULL;
    sbr_error none;

    if (m->program)
        return m->program;
    if (req->program || req->n_files)
        return req->program ? req->program : req->files[0].path;
    if (req->language && language_resolve(req->language, &language, &none) == 0)
        return language->source;
    return req->args.n ? req->args.items[0] : "";
}

int measure_check_request(const sbr_request *req, sbr_error *err)
{
    return req->keep || req->outputs.n
               ? err_set(err, SBR_E_INVALID, "measure",
                         "many runs would leave changes and files each; run the program once to "
                         "keep them or to copy them out")
               : 0;
}

/* The first line that the compiler wrote, for callers who see nothing else of it. */
static const char *first_line(const sbr_result *result, int *ret_len)
{
    const sbr_result *last = result->n_before ? result->before[result->n_before - 1] : result;
    const sbr_report *report = sbr_result_report(last);
    const char *text = report->errout_len ? report->errout : report->out_len ? report->out : "";

    text += strspn(text, "\n ");
    *ret_len = (int)strcspn(text, "\n");
    return text;
}

int measure_check(const struct measure *m, const struct measure_hooks *hooks,
                  const sbr_result *result, sbr_error *err)
{
    const char *line = "";
    int len = 0;

    if (result->verdict == SBR_CANCELLED)
        return err_set(err, SBR_E_BUSY, "measure", "the measurement was stopped before its end");
    if (result->verdict != SBR_COMPILE_FAILED && result->verdict != SBR_INSTALL_FAILED)
        return 0;
    if (hooks && hooks->failed)
        hooks->failed(hooks->context, result);
    else
        line = first_line(result, &len);
    return err_set(err, SBR_E_INVALID, "measure", "'%.200s' cannot be compiled%s%.*s",
                   measure_name(m), len ? ": " : "", len < 200 ? len : 200, line);
}

int measure_add(struct measure *m, const sbr_result *result, sbr_error *err)
{
    const sbr_report *report = sbr_result_report(result);

    if (stats_add(&m->wall_us, report->wall_us, err) < 0 ||
        stats_add(&m->cpu_us, report->cpu_us, err) < 0)
        return err->code;
    return stats_add(&m->memory_bytes, report->peak_memory_bytes, err);
}

void measure_put_json(struct jsonw *j, struct measure *m)
{
    struct stats wall = stats_of(&m->wall_us), cpu = stats_of(&m->cpu_us);
    struct stats memory = stats_of(&m->memory_bytes);

    stats_put(j, "wall_ms", &wall, 3);
    stats_put(j, "cpu_ms", &cpu, 3);
    stats_put(j, "peak_memory_bytes", &memory, 0);
}

void measure_done(struct measure *m)
{
    stats_done(&m->wall_us);
    stats_done(&m->cpu_us);
    stats_done(&m->memory_bytes);
}
