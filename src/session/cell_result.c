/* A cell's result: that of a run, with `cell`, `display`, `session` and `memory_is`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "explain/diagnose.h"
#include "session/supervisor.h"

#define VERSION_BYTES "0123456789.+-_~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static void fill_usage(const struct session *s, const struct cell *cell, sbr_result *result)
{
    const sbr_metrics *before = &cell->before;
    sbr_metrics now = { .struct_size = sizeof(now) };
    struct usage *usage = &result->usage;

    usage->wall_us = clock_now_us() - cell->started_us;
    result->total_us = result->stage_us = usage->wall_us;
    if (!s->job || sbr_job_metrics(s->job, &now) < 0 || !now.stage)
        return;
    usage->cpu_user_us = less(now.cpu_user_us, before->cpu_user_us);
    usage->cpu_system_us = less(now.cpu_system_us, before->cpu_system_us);
    usage->peak_memory_bytes =
        cell->peak_is_own ? now.peak_memory_bytes : less(now.memory_bytes, before->memory_bytes);
    usage->peak_processes = now.processes;
    usage->io_read_bytes = less(now.io_read_bytes, before->io_read_bytes);
    usage->io_write_bytes = less(now.io_write_bytes, before->io_write_bytes);
}

/* A line of an earlier cell is not in this one's code: no lines are shown then. */
static void explain(const struct session *s, const struct cell *cell, sbr_result *result)
{
    char name[32];
    sbr_request seen = s->request;
    struct diagnose_input in = { .language = cell->kernel->language,
                                 .request = &seen,
                                 .work = "/work",
                                 .driver = "/driver",
                                 .main_file = name };

    if (result_success(result) || result->verdict == SBR_CANCELLED)
        return;
    snprintf(name, sizeof(name), "cell-%llu", (unsigned long long)cell->number);
    seen.code = cell->request.code;
    seen.code_len = cell->request.len;
    in.text = result_output_end(&result->err, &in.len);
    result->diagnosis = diagnose(&in);
}

/* The kernel said it before its first cell; the store may not know it yet. */
static void name_version(const struct kernel *k, sbr_result *result)
{
    const char *version = json_string_value(json_object_get(k->hello, "version"));
    struct result_language *language = &result->language;

    if (k->index) /* the run knows of the first one */
        *language = (struct result_language){ 0 };
    language->name = k->language->name; /* also after the end of the run */
    if (!version || strspn(version, VERSION_BYTES) != strlen(version))
        return;
    if (!language->tool_version[0])
        snprintf(language->tool_version, sizeof(language->tool_version), "%.31s", version);
    if (!language->version[0])
        snprintf(language->version, sizeof(language->version), "%.31s",
                 k->language->release ? k->language->release : version);
}

static void fill(struct session *s, struct cell *cell, const struct cell_end *end,
                 sbr_result *result)
{
    result->verdict = end->verdict;
    result->exit_code = end->verdict == SBR_EXITED ? end->exit_code : -1;
    result->signal = end->signal;
    if (s->job) {
        sbr_error ignored; /* without memory the result lists fewer rules */

        runner_describe(s->job, result);
        for (size_t i = 0; i < s->granted.n_rules; i++)
            if (network_add_rule(&result->network, &s->granted.rules[i], &ignored) < 0)
                break;
    }
    name_version(cell->kernel, result);
    result->limits = s->limits;
    result->limits.value[SBR_WALL_MS] = cell->request.timeout_ms;
    result->stage = "run";
    result->ran = true;
    result->started_at_us = cell->started_at_us;
    snprintf(result->explanation, sizeof(result->explanation), "%s",
             end->explanation ? end->explanation : "");
    head_tail_take(&cell->out, cell->out_bytes > cell->out.total, &result->out);
    head_tail_take(&cell->err, cell->err_bytes > cell->err.total, &result->err);
    result->out.total = cell->out_bytes;
    result->err.total = cell->err_bytes;
    result->out.truncated = result->out.len + result->out.tail_len < cell->out_bytes;
    result->err.truncated = result->err.len + result->err.tail_len < cell->err_bytes;
    denials_merge(&result->denials, &cell->denials);
    if (s->job)
        runner_end_denials(s->job, &cell->refused, result, &s->background_denials);
    fill_usage(s, cell, result);
    explain(s, cell, result);
    result_complete(result);
}

/* The object of the result, open again. */
static void add_own_fields(const struct cell *cell, const char *session, struct buf *out)
{
    out->len--; /* its closing bracket */
    buf_printf(out, ",\"cell\":%llu,\"session\":\"%s\",\"memory_is\":\"%s\",",
               (unsigned long long)cell->number, session, cell->peak_is_own ? "peak" : "change");
    cell_display_write(cell, out);
    buf_add_text(out, "}");
}

/* Without a copy: the text has up to 56 MB. */
char *cell_result(struct session *s, const struct cell_end *end)
{
    struct cell *cell = s->cell;
    sbr_result *result = calloc(1, sizeof(*result));
    struct buf out;

    if (!result || encoding_random_id(result->id) < 0) {
        free(result);
        return NULL;
    }
    fill(s, cell, end, result);
    buf_init(&out, SIZE_MAX / 2);
    out.data = result_to_json(result);
    result_free(result);
    if (!out.data)
        return NULL;
    out.len = strlen(out.data);
    out.capacity = out.len + 1;
    add_own_fields(cell, end->session, &out);
    return buf_take(&out, &(size_t){ 0 });
}
