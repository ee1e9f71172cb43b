/* The result as docs/result.md describes it.  Fields are only ever added. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "model/result.h"

#define RESULT_SCHEMA 1
#define PIECE (8u << 10)

/* A part from the start that ends where a character ends. */
static size_t piece_of(const char *data, size_t len)
{
    size_t part = len < PIECE ? len : PIECE;

    while (part < len && part > PIECE - 4 && ((unsigned char)data[part] & 0xc0) == 0x80)
        part--;
    return part;
}

/* False for bytes that are not UTF-8, and for text that is mostly control characters, each of which
 * would take six bytes: these become base64. */
bool result_is_best_as_text(const char *data, size_t len)
{
    size_t unusual = 0, escaped = 0, part; /* of the pieces that are not usual */

    if (!data)
        return true; /* and `len` is 0 */
    /* In pieces that stay in the CPU's cache between the looks at them. */
    for (size_t at = 0; at < len; at += part) {
        part = piece_of(data + at, len - at);
        if (jsonw_is_usual(data + at, part))
            continue;
        if (!text_is_utf8(data + at, part))
            return false;
        unusual += part;
        escaped += jsonw_escaped_len(data + at, part);
    }
    /* A usual piece is never too long, and may make up for the others. */
    return len < 64 || escaped <= 2 * unusual || jsonw_escaped_len(data, len) <= 2 * len;
}

static void put_output(struct jsonw *j, const char *name, const struct output *out)
{
    const char *tail = out->data ? out->tail : NULL; /* else it is for the diagnosis */
    size_t tail_len = tail ? out->tail_len : 0;
    bool utf8 =
        result_is_best_as_text(out->data, out->len) && result_is_best_as_text(tail, tail_len);
    char key[32];

    jsonw_long(j, name, out->data, out->len, !utf8);
    snprintf(key, sizeof(key), "%s_tail", name);
    if (tail)
        jsonw_long(j, key, tail, tail_len, !utf8);
    else
        jsonw_null(j, key);
    snprintf(key, sizeof(key), "%s_bytes", name);
    jsonw_number(j, key, out->total);
    snprintf(key, sizeof(key), "%s_omitted_bytes", name);
    jsonw_number(j, key, out->total - out->len - tail_len);
    snprintf(key, sizeof(key), "%s_truncated", name);
    jsonw_bool(j, key, out->truncated);
    snprintf(key, sizeof(key), "%s_encoding", name);
    jsonw_text(j, key, utf8 ? "utf-8" : "base64");
}

static void put_usage(struct jsonw *j, const struct usage *u)
{
    uint64_t cpu_us = u->cpu_user_us + u->cpu_system_us;

    jsonw_open(j, "metrics", '{');
    jsonw_fixed(j, "wall_ms", u->wall_us, 3);
    jsonw_fixed(j, "cpu_user_ms", u->cpu_user_us, 3);
    jsonw_fixed(j, "cpu_system_ms", u->cpu_system_us, 3);
    jsonw_fixed(j, "cpu_percent", u->wall_us ? cpu_us * 1000 / u->wall_us : 0, 1);
    jsonw_number(j, "peak_memory_bytes", u->peak_memory_bytes);
    jsonw_number(j, "peak_processes", u->peak_processes);
    jsonw_number(j, "io_read_bytes", u->io_read_bytes);
    jsonw_number(j, "io_write_bytes", u->io_write_bytes);
    jsonw_number(j, "context_switches", u->context_switches);
    jsonw_fixed(j, "startup_ms", u->startup_us, 3);
    jsonw_fixed(j, "queue_ms", u->queue_us, 3);
    jsonw_number(j, "network_connections", u->connections);
    jsonw_number(j, "network_bytes_in", u->network_in_bytes);
    jsonw_number(j, "network_bytes_out", u->network_out_bytes);
    jsonw_fixed(j, "network_cpu_ms", u->network_cpu_us, 3);
    jsonw_close(j, '}');
}

void result_put_limits(struct jsonw *j, const char *key, const struct limits *limits)
{
    jsonw_open(j, key, '{');
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        if (limits->value[i] == LIMIT_NONE)
            jsonw_null(j, limit_defs[i].name);
        else
            jsonw_fixed(j, limit_defs[i].name, limits->value[i],
                        limit_defs[i].unit == LIMIT_MILLIS ? 3 : 0);
    }
    jsonw_close(j, '}');
}

void result_put_isolation(struct jsonw *j, const char *key, const struct isolation *isolation)
{
    jsonw_open(j, key, '{');
    jsonw_text(j, "tier", request_tier_name(isolation->tier));
    jsonw_names(j, "mechanisms", isolation->mechanisms, isolation->n_mechanisms);
    jsonw_names(j, "missing", isolation->missing, isolation->n_missing);
    jsonw_close(j, '}');
}

void result_put_network(struct jsonw *j, const char *key, const struct network *network)
{
    jsonw_open(j, key, '{');
    jsonw_text(j, "mode", network_mode_name(network->mode));
    jsonw_open(j, "allow_hosts", '[');
    for (size_t i = 0; i < network->n_rules; i++)
        jsonw_text(j, NULL, network->rules[i].text);
    jsonw_close(j, ']');
    jsonw_bool(j, "allow_dns", network->allow_dns);
    jsonw_close(j, '}');
}

static void put_signal(struct jsonw *j, int number)
{
    char name[SIGNAL_NAME_SIZE];

    if (number)
        jsonw_text(j, "signal", result_signal_name(number, name));
    else
        jsonw_null(j, "signal");
}

/* The fields that a stage and the whole result share. */
static void put_verdict(struct jsonw *j, const sbr_result *r)
{
    jsonw_bool(j, "success", result_success(r));
    jsonw_text(j, "outcome", result_verdict_name(r->verdict));
    if (r->exit_code >= 0)
        jsonw_number(j, "exit_code", (uint64_t)r->exit_code);
    else
        jsonw_null(j, "exit_code");
    put_signal(j, r->signal);
    jsonw_fixed(j, "execution_time", r->usage.wall_us, 6);
    jsonw_fixed(j, "cpu_time", r->usage.cpu_user_us + r->usage.cpu_system_us, 6);
    jsonw_number(j, "memory_used", r->usage.peak_memory_bytes);
    put_usage(j, &r->usage);
}

/* Our messages may quote text of an untrusted program, cut at a fixed length: not always UTF-8. */
static void put_sentence(struct jsonw *j, const char *key, const char *text)
{
    char copy[sizeof(((sbr_error *)NULL)->message)]; /* the longer of both */

    if (!text[0]) {
        jsonw_null(j, key);
        return;
    }
    snprintf(copy, sizeof(copy), "%s", text);
    if (!text_is_utf8(copy, strlen(copy)))
        for (char *p = copy; *p; p++)
            if ((unsigned char)*p >= 0x80)
                *p = '?';
    jsonw_text(j, key, copy);
}

/* An empty text is one that is not known. */
static void put_known(struct jsonw *j, const char *key, const char *text)
{
    jsonw_text(j, key, text[0] ? text : NULL);
}

static void put_language(struct jsonw *j, const struct result_language *language)
{
    if (!language->name) {
        jsonw_null(j, "language");
        return;
    }
    jsonw_open(j, "language", '{');
    jsonw_text(j, "name", language->name);
    put_known(j, "version", language->version);
    put_known(j, "tool", language->tool);
    put_known(j, "tool_version", language->tool_version);
    jsonw_close(j, '}');
}

/* Which run it was: its id, when it began, what ran it, how long all of it took. */
static void put_origin(struct jsonw *j, const sbr_result *r)
{
    char time[RESULT_TIME_SIZE];

    result_format_time(r->started_at_us, time);
    jsonw_text(j, "id", r->id);
    jsonw_text(j, "version", result_version());
    jsonw_text(j, "started_at", time);
    jsonw_fixed(j, "total_ms", r->total_us, 3);
    put_language(j, &r->language);
    jsonw_text(j, "stage", r->stage);
}

/* Omits streams and denials of the last stage, because the result has them. */
static void put_stage(struct jsonw *j, const sbr_result *r, bool last)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "name", r->stage);
    put_verdict(j, r);
    if (!last) {
        put_sentence(j, "explanation", r->explanation);
        put_output(j, "stdout", &r->out);
        put_output(j, "stderr", &r->err);
        denials_put_json(j, &r->denials);
    }
    result_put_limits(j, "limits", &r->limits);
    jsonw_text(j, "startup", r->startup);
    jsonw_fixed(j, "total_ms", r->stage_us, 3);
    jsonw_close(j, '}');
}

static void put_stages(struct jsonw *j, const sbr_result *r)
{
    jsonw_open(j, "stages", '[');
    for (size_t i = 0; i < r->n_before; i++)
        put_stage(j, r->before[i], false);
    if (r->ran)
        put_stage(j, r, true);
    jsonw_close(j, ']');
}

static void put_tty(struct jsonw *j, const sbr_result *r)
{
    if (!r->tty_rows)
        return;
    jsonw_open(j, "tty", '{');
    jsonw_number(j, "rows", r->tty_rows);
    jsonw_number(j, "columns", r->tty_columns);
    jsonw_close(j, '}');
}

static void put_paths(struct jsonw *j, const char *key, const struct string_list *paths)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < paths->n; i++)
        jsonw_path(j, NULL, paths->items[i]);
    jsonw_close(j, ']');
}

void result_put_json(struct jsonw *j, const sbr_result *r)
{
    jsonw_open(j, NULL, '{');
    jsonw_number(j, "schema", RESULT_SCHEMA);
    put_origin(j, r);
    put_verdict(j, r);
    put_sentence(j, "explanation", r->explanation);
    put_output(j, "stdout", &r->out);
    put_output(j, "stderr", &r->err);
    result_put_limits(j, "limits", &r->limits);
    put_stages(j, r);
    result_put_isolation(j, "isolation", &r->isolation);
    jsonw_text(j, "policy", r->policy);
    result_put_network(j, "network", &r->network);
    publish_put_json(j, "ports", &r->publish);
    denials_put_json(j, &r->denials);
    diagnosis_put_json(j, "diagnosis", r->diagnosis);
    jsonw_bool(j, "cached", r->cached);
    if (r->compile_output)
        jsonw_text(j, "compile_output", r->compile_output);
    jsonw_text(j, "startup", r->startup);
    put_tty(j, r);
    changes_put_json(j, r->changes);
    jsonw_text(j, "changes_id", r->changes_id[0] ? r->changes_id : NULL);
    jsonw_text(j, "output_id", r->output_id[0] ? r->output_id : NULL);
    output_files_put_json(j, &r->files);
    put_paths(j, "excluded", &r->excluded);
    put_paths(j, "uses", &r->uses);
    jsonw_close(j, '}');
}

void result_put_error(struct jsonw *j, const sbr_error *err)
{
    jsonw_open(j, NULL, '{');
    jsonw_number(j, "schema", RESULT_SCHEMA);
    jsonw_bool(j, "success", false);
    jsonw_text(j, "outcome", result_error_name(err->code));
    jsonw_open(j, "error", '{');
    jsonw_text(j, "code", err_code_name(err->code));
    jsonw_text(j, "stage", err->stage);
    put_sentence(j, "message", err->message);
    if (err->sys_errno)
        jsonw_number(j, "errno", (uint64_t)err->sys_errno);
    else
        jsonw_null(j, "errno");
    jsonw_close(j, '}');
    jsonw_close(j, '}');
}

char *result_to_json(const sbr_result *r)
{
    struct jsonw j;

    jsonw_init(&j, false);
    result_put_json(&j, r);
    return jsonw_take(&j);
}

char *result_to_json_apart(const sbr_result *r, struct jsonw_apart *apart)
{
    struct jsonw j;

    jsonw_init(&j, false);
    j.apart = apart;
    result_put_json(&j, r);
    return jsonw_take(&j);
}

char *result_error_to_json(const sbr_error *err)
{
    struct jsonw j;

    jsonw_init(&j, false);
    result_put_error(&j, err);
    return jsonw_take(&j);
}
