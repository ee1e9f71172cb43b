#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialect/judge0.h"
#include "http/execution.h"
#include "http/server.h"
#include "model/result.h"

#define KEPT_US (10 * 60 * 1000000ULL) /* after the end */

struct judge0_submission *judge0_find(const struct exchange *x, const char *token)
{
    list_each(at, &x->server->submissions) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (!strcmp(s->token, token) && !strcmp(s->tenant.name, x->tenant.name))
            return s;
    }
    return NULL;
}

struct judge0_submission *judge0_add(struct server *server, const struct grant *tenant, json_t *row)
{
    struct judge0_submission *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    snprintf(s->token, sizeof(s->token), "%s", translate_word(row, "token"));
    s->tenant = *tenant;
    s->row = json_incref(row);
    s->expected = json_incref(json_object_get(row, "expected_output"));
    s->redirect = json_is_true(json_object_get(row, "redirect_stderr_to_stdout"));
    link_init(&s->link);
    list_append(&server->submissions, &s->link);
    return s;
}

char *judge0_note(const json_t *row)
{
    return json_dumps(row, JSON_COMPACT);
}

struct judge0_submission *judge0_add_again(const struct execution *e, const json_t *note)
{
    struct grant tenant = { .scopes = 0 };
    char time[RESULT_TIME_SIZE];
    struct judge0_submission *s;

    if (!encoding_is_hex(translate_word(note, "token"), ENCODING_ID_SIZE - 1))
        return NULL;
    snprintf(tenant.name, sizeof(tenant.name), "%s", e->tenant);
    s = judge0_add(e->server, &tenant, (json_t *)note);
    if (!s)
        return NULL;
    result_format_time(e->created_us, time);
    json_object_set_new(s->row, "created_at", json_string(time));
    if (!json_object_get(s->row, "status_id"))
        json_object_set_new(s->row, "status_id", json_integer(JUDGE0_QUEUE));
    memcpy(s->job, e->id, sizeof(s->job));
    return s;
}

void judge0_forget(struct server *server, struct judge0_submission *s)
{
    execution_record_drop_note(server, s->job);
    judge0_remove(s);
}

void judge0_remove(struct judge0_submission *s)
{
    struct execution *e = s->execution ? s->execution : s->settling;

    if (e) {
        e->digest = NULL;
        e->ended = e->settled = NULL;
        e->add = NULL;
    }
    link_remove(&s->link);
    json_decref(s->row);
    json_decref(s->expected);
    free(s);
}

/* clang-format off */
static const struct {
    const char *name;
    bool base64; /* it is kept so */
    bool shown;  /* when no fields are asked for */
} fields_table[] = {
    { "token", false, true }, { "time", false, true }, { "memory", false, true },
    { "stdout", true, true }, { "stderr", true, true }, { "compile_output", true, true },
    { "message", true, true }, { "status", false, true },
    { "source_code", true, false }, { "language_id", false, false }, { "stdin", true, false },
    { "expected_output", true, false }, { "status_id", false, false },
    { "created_at", false, false }, { "finished_at", false, false },
    { "number_of_runs", false, false }, { "cpu_time_limit", false, false },
    { "cpu_extra_time", false, false }, { "wall_time_limit", false, false },
    { "memory_limit", false, false }, { "stack_limit", false, false },
    { "max_processes_and_or_threads", false, false },
    { "enable_per_process_and_thread_time_limit", false, false },
    { "enable_per_process_and_thread_memory_limit", false, false },
    { "max_file_size", false, false }, { "exit_code", false, false },
    { "exit_signal", false, false }, { "wall_time", false, false },
    { "compiler_options", false, false }, { "command_line_arguments", false, false },
    { "redirect_stderr_to_stdout", false, false }, { "callback_url", false, false },
    { "additional_files", false, false }, { "enable_network", false, false },
    { "language", false, false },
};
/* clang-format on */

static bool is_asked(const char *fields, size_t i)
{
    if (!fields || !*fields)
        return fields_table[i].shown;
    return text_list_has(fields, "*") || text_list_has(fields, fields_table[i].name);
}

char *judge0_wrong_field(const char *fields)
{
    for (size_t len; fields && *fields; fields += len + (fields[len] == ',')) {
        scoped_free char *name = NULL;
        bool found = false;

        len = strcspn(fields, ",");
        name = strndup(fields, len);
        for (size_t i = 0; name && i < ARRAY_LEN(fields_table); i++)
            found |= !strcmp(name, fields_table[i].name) || !strcmp(name, "*");
        if (!found)
            return take_ptr(name);
    }
    return NULL;
}

/* NULL: the text is no UTF-8. */
static json_t *decoded(const json_t *value)
{
    scoped_free char *bytes = NULL;
    size_t len;

    if (!json_is_string(value))
        return json_null();
    if (encoding_from_base64(json_string_value(value), &bytes, &len) < 0)
        return NULL;
    return json_stringn(bytes, len);
}

static json_t *value_of(const json_t *row, size_t i, bool base64)
{
    json_t *value = json_object_get(row, fields_table[i].name);
    json_int_t status = json_integer_value(json_object_get(row, "status_id"));

    if (!strcmp(fields_table[i].name, "status"))
        return json_pack("{s:I, s:s}", "id", status, "description",
                         judge0_status_name((enum judge0_status)status));
    if (fields_table[i].base64 && !base64)
        return decoded(value);
    return value ? json_incref(value) : json_null();
}

json_t *judge0_show(const json_t *row, bool base64, const char *fields)
{
    json_t *shown = json_object();

    for (size_t i = 0; i < ARRAY_LEN(fields_table); i++) {
        json_t *value;

        if (!is_asked(fields, i))
            continue;
        value = value_of(row, i, base64);
        if (!value) {
            json_decref(shown);
            return NULL;
        }
        json_object_set_new(shown, fields_table[i].name, value);
    }
    return shown;
}

size_t judge0_bytes(const json_t *row)
{
    static const char *const texts[] = { "source_code", "stdin",  "expected_output",
                                         "stdout",      "stderr", "compile_output" };
    size_t bytes = 0;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bytes += json_string_length(json_object_get(row, texts[i]));
    return bytes;
}

static bool may_go(const struct judge0_submission *s)
{
    return !s->execution && !s->settling && !s->waiter;
}

static struct kept look(const struct link *at)
{
    const struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

    return (struct kept){ may_go(s) ? s->tenant.name : NULL, s->bytes };
}

static void forget(struct link *at, void *context)
{
    judge0_forget(context, link_owner(at, struct judge0_submission, link));
}

void judge0_tick(struct server *server, uint64_t now_us)
{
    list_each(at, &server->submissions) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (!s->execution && !s->bytes)
            s->bytes = sizeof(*s) + judge0_bytes(s->row);
        if (may_go(s) && now_us >= s->ended_us + KEPT_US)
            judge0_forget(server, s);
    }
    kept_share_trim(&(struct kept_pool){ &server->submissions, look, forget, server });
}

void judge0_close(struct server *server)
{
    list_each(at, &server->submissions) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        s->execution = s->settling = NULL; /* those are gone already */
        judge0_remove(s);
    }
    catalog_free(server);
}
