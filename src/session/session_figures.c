/* What a session has used, and what it may use. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "session/supervisor.h"

static json_t *background_of(struct session *s, size_t which)
{
    struct output output = { 0 };
    struct head_tail copy;
    json_t *text;

    head_tail_take_tail(&s->background[which], &output);
    text = json_stringn(output.tail ? output.tail : "", output.tail_len);
    if (!text) /* no UTF-8 */
        text = json_string("");
    head_tail_init(&copy, 0, BACKGROUND_KEPT);
    head_tail_add(&copy, output.tail ? output.tail : "", output.tail_len);
    s->background[which] = copy;
    free(output.tail);
    return text;
}

/* What was refused between cells, and to other kernels than that of the cell. */
static void add_denials(const struct session *s, json_t *figures)
{
    scoped_free char *text = NULL;
    struct jsonw j;
    json_t *all;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    denials_put_json(&j, &s->background_denials);
    jsonw_close(&j, '}');
    text = jsonw_take(&j);
    all = json_read_own(text, 0);
    if (all) {
        json_object_set(figures, "background_denials", json_object_get(all, "denials"));
        json_object_set(figures, "background_denials_dropped",
                        json_object_get(all, "denials_dropped"));
    }
    json_decref(all);
}

json_t *session_figures_used(struct session *s)
{
    sbr_metrics now = { .struct_size = sizeof(now) };
    json_t *figures;

    (void)sbr_job_metrics(s->job, &now);
    runner_background_denials(s->job, s->cell != NULL, &s->background_denials);
    figures = json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "id",
                        s->dir.id, "cells", (json_int_t)s->cells, "wall_ms",
                        (double)now.wall_us / 1000, "cpu_user_ms", (double)now.cpu_user_us / 1000,
                        "cpu_system_ms", (double)now.cpu_system_us / 1000, "memory_bytes",
                        (json_int_t)now.memory_bytes, "processes", (json_int_t)now.processes,
                        "io_read_bytes", (json_int_t)now.io_read_bytes, "io_write_bytes",
                        (json_int_t)now.io_write_bytes, "background_stdout_bytes",
                        (json_int_t)s->background_bytes[0], "background_stderr_bytes",
                        (json_int_t)s->background_bytes[1], "background_stdout",
                        background_of(s, 0), "background_stderr", background_of(s, 1));
    add_denials(s, figures);
    return figures;
}

static bool is_of_a_cell(size_t limit)
{
    return limit == SBR_WALL_MS || limit == SBR_CPU_MS || limit == SBR_OUTPUT_BYTES ||
           limit == SBR_GRACE_MS;
}

static json_t *limit_value(const struct session *s, size_t limit)
{
    uint64_t value = s->limits.value[limit];

    if (value == LIMIT_NONE)
        return json_null();
    return limit_defs[limit].unit == LIMIT_MILLIS ? json_real((double)value / 1000)
                                                  : json_integer((json_int_t)value);
}

json_t *session_figures_limits(const struct session *s)
{
    json_t *cell = json_object(), *all = json_object();

    for (size_t i = 0; i < N_LIMITS; i++)
        json_object_set_new(is_of_a_cell(i) ? cell : all, limit_defs[i].name, limit_value(s, i));
    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:f}", "id", s->dir.id, "cell", cell,
                     "session", all, "idle_ms", (json_int_t)s->bounds.idle_ms, "age_ms",
                     (json_int_t)s->bounds.age_ms, "freeze_ms", (json_int_t)s->bounds.freeze_ms,
                     "expires_in_s", idle_expires_s(s));
}
