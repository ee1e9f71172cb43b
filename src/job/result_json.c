/* The result contract of docs/result.md.  Fields are only ever added. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "job/result.h"

#define RESULT_SCHEMA 1

/* jansson's setters take the value and fail on NULL, so an allocation failure anywhere ends in
 * `ok` being false and no half object is ever printed. */
struct writer {
    json_t *object;
    bool ok;
};

static struct writer writer_new(void)
{
    struct writer w = { .object = json_object() };

    w.ok = w.object != NULL;
    return w;
}

static void put(struct writer *w, const char *key, json_t *take_value)
{
    if (json_object_set_new(w->object, key, take_value) < 0)
        w->ok = false;
}

static void put_child(struct writer *w, const char *key, struct writer take_child)
{
    if (!take_child.ok)
        w->ok = false;
    put(w, key, take_child.object);
}

/* Numbers of seconds and milliseconds keep microseconds and print short. */
static json_t *real(uint64_t micros, double unit)
{
    return json_real((double)micros / unit);
}

static void put_output(struct writer *w, const char *name, const struct output *out)
{
    bool utf8 = text_is_utf8(out->data, out->len);
    scoped_free char *base64 = utf8 ? NULL : encode_base64(out->data, out->len);
    char key[32];

    snprintf(key, sizeof(key), "%s_bytes", name);
    put(w, key, json_integer((json_int_t)out->total));
    snprintf(key, sizeof(key), "%s_truncated", name);
    put(w, key, json_boolean(out->truncated));
    snprintf(key, sizeof(key), "%s_encoding", name);
    put(w, key, json_string(utf8 ? "utf-8" : "base64"));
    put(w, name,
        utf8 ? json_stringn_nocheck(out->data ? out->data : "", out->len)
             : json_string_nocheck(base64 ? base64 : ""));
    if (!utf8 && !base64)
        w->ok = false;
}

static struct writer usage_json(const struct usage *u)
{
    struct writer w = writer_new();
    uint64_t cpu_us = u->cpu_user_us + u->cpu_system_us;

    put(&w, "wall_ms", real(u->wall_us, 1e3));
    put(&w, "cpu_user_ms", real(u->cpu_user_us, 1e3));
    put(&w, "cpu_system_ms", real(u->cpu_system_us, 1e3));
    put(&w, "cpu_percent",
        json_real(u->wall_us ? (double)(cpu_us * 1000 / u->wall_us) / 10.0 : 0.0));
    put(&w, "peak_memory_bytes", json_integer((json_int_t)u->peak_memory_bytes));
    put(&w, "peak_processes", json_integer((json_int_t)u->peak_processes));
    put(&w, "io_read_bytes", json_integer((json_int_t)u->io_read_bytes));
    put(&w, "io_write_bytes", json_integer((json_int_t)u->io_write_bytes));
    put(&w, "context_switches", json_integer((json_int_t)u->context_switches));
    put(&w, "startup_ms", real(u->startup_us, 1e3));
    put(&w, "queue_ms", real(u->queue_us, 1e3));
    return w;
}

static struct writer limits_json(const struct limits *limits)
{
    struct writer w = writer_new();

    for (unsigned int i = 0; i < N_LIMITS; i++) {
        uint64_t value = limits->value[i];

        if (value == LIMIT_NONE)
            put(&w, limit_defs[i].name, json_null());
        else if (limit_defs[i].unit == LIMIT_MILLIS)
            put(&w, limit_defs[i].name, json_real((double)value / 1000));
        else
            put(&w, limit_defs[i].name, json_integer((json_int_t)value));
    }
    return w;
}

static json_t *names_json(const char *const *names, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++) {
        if (json_array_append_new(array, json_string(names[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static struct writer isolation_json(const struct isolation *isolation)
{
    struct writer w = writer_new();

    put(&w, "tier", json_string(tier_name(isolation->tier)));
    put(&w, "mechanisms", names_json(isolation->mechanisms, isolation->n_mechanisms));
    put(&w, "missing", names_json(isolation->missing, isolation->n_missing));
    return w;
}

static json_t *signal_json(int number)
{
    const char *name = number ? sigabbrev_np(number) : NULL;

    if (!number)
        return json_null();
    return name ? json_sprintf("SIG%s", name) : json_sprintf("signal %d", number);
}

/* What a stage and the whole result share. */
static void put_verdict(struct writer *w, const sbr_result *r)
{
    uint64_t cpu_us = r->usage.cpu_user_us + r->usage.cpu_system_us;

    put(w, "success", json_boolean(result_success(r)));
    put(w, "outcome", json_string(verdict_name(r->verdict)));
    put(w, "exit_code", r->exit_code >= 0 ? json_integer(r->exit_code) : json_null());
    put(w, "signal", signal_json(r->signal));
    put(w, "execution_time", real(r->usage.wall_us, 1e6));
    put(w, "cpu_time", real(cpu_us, 1e6));
    put(w, "memory_used", json_integer((json_int_t)r->usage.peak_memory_bytes));
    put_child(w, "metrics", usage_json(&r->usage));
}

/* One stage so far.  Its streams are the result's own and are not repeated. */
static json_t *stages_json(const sbr_result *r)
{
    struct writer stage = writer_new();
    json_t *array = json_array();

    put(&stage, "name", json_string("run"));
    put_verdict(&stage, r);
    if (!stage.ok || json_array_append(array, stage.object) < 0) {
        json_decref(array);
        array = NULL;
    }
    json_decref(stage.object);
    return array;
}

static char *writer_dump(struct writer *w)
{
    char *text = NULL;

    if (w->ok)
        text = json_dumps(w->object, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(w->object);
    return text;
}

char *result_to_json(const sbr_result *r)
{
    struct writer w = writer_new();

    put(&w, "schema", json_integer(RESULT_SCHEMA));
    put(&w, "id", json_string(r->id));
    put_verdict(&w, r);
    put(&w, "explanation", r->explanation[0] ? json_string(r->explanation) : json_null());
    put_output(&w, "stdout", &r->out);
    put_output(&w, "stderr", &r->err);
    put_child(&w, "limits", limits_json(&r->limits));
    put(&w, "stages", stages_json(r));
    put_child(&w, "isolation", isolation_json(&r->isolation));
    put(&w, "startup", json_string(r->startup));
    return writer_dump(&w);
}

char *error_to_json(const sbr_error *err)
{
    struct writer w = writer_new(), detail = writer_new();

    put(&detail, "code", json_string(err_code_name(err->code)));
    put(&detail, "stage", json_string(err->stage));
    put(&detail, "message", json_string(err->message));
    put(&detail, "errno", err->sys_errno ? json_integer(err->sys_errno) : json_null());
    put(&w, "schema", json_integer(RESULT_SCHEMA));
    put(&w, "success", json_false());
    put(&w, "outcome", json_string(verdict_name(SBR_INTERNAL_ERROR)));
    put_child(&w, "error", detail);
    return writer_dump(&w);
}
