#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "dialect/judge0.h"
#include "http/server.h"

#define KEPT_US (10 * 60 * 1000000ULL) /* after the end */
#define KEPT_MAX 4096                  /* submissions that are over */
#define KEPT_BYTES ((size_t)256 << 20) /* of all of them */

static struct link all = { &all, &all };
static size_t kept_bytes;

struct link *judge0_all(void)
{
    return &all;
}

struct judge0_submission *judge0_find(const struct tenant *tenant, const char *token)
{
    list_each(at, &all) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (!strcmp(s->token, token) && !strcmp(s->tenant.name, tenant->name))
            return s;
    }
    return NULL;
}

struct judge0_submission *judge0_add(const struct tenant *tenant)
{
    struct judge0_submission *s = calloc(1, sizeof(*s));

    if (s)
        s->row = json_object();
    if (!s || !s->row || encoding_random_id(s->token) < 0) {
        free(s);
        return NULL;
    }
    s->tenant = *tenant;
    link_init(&s->link);
    list_append(&all, &s->link);
    json_object_set_new(s->row, "token", json_string(s->token));
    return s;
}

void judge0_remove(struct judge0_submission *s)
{
    if (s->execution)
        s->execution->ended = NULL;
    kept_bytes -= s->bytes;
    link_remove(&s->link);
    json_decref(s->row);
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

static json_t *value_of(const struct judge0_submission *s, size_t i, bool base64)
{
    json_t *value = json_object_get(s->row, fields_table[i].name);
    json_int_t status = json_integer_value(json_object_get(s->row, "status_id"));

    if (!strcmp(fields_table[i].name, "status"))
        return json_pack("{s:I, s:s}", "id", status, "description",
                         judge0_status_name((enum judge0_status)status));
    if (fields_table[i].base64 && !base64)
        return decoded(value);
    return value ? json_incref(value) : json_null();
}

json_t *judge0_show(const struct judge0_submission *s, bool base64, const char *fields)
{
    json_t *shown = json_object();

    for (size_t i = 0; i < ARRAY_LEN(fields_table); i++) {
        json_t *value;

        if (!is_asked(fields, i))
            continue;
        value = value_of(s, i, base64);
        if (!value) {
            json_decref(shown);
            return NULL;
        }
        json_object_set_new(shown, fields_table[i].name, value);
    }
    return shown;
}

static void count_bytes(struct judge0_submission *s)
{
    static const char *const texts[] = { "source_code", "stdin",  "expected_output",
                                         "stdout",      "stderr", "compile_output" };

    if (s->bytes)
        return;
    s->bytes = sizeof(*s);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        s->bytes += json_string_length(json_object_get(s->row, texts[i]));
    kept_bytes += s->bytes;
}

/* Of those that are over, the oldest are forgotten first. */
void judge0_tick(struct server *server, uint64_t now_us)
{
    size_t over = 0;

    (void)server;
    list_each(at, &all) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        over += !s->execution;
        if (!s->execution)
            count_bytes(s);
    }
    list_each(at, &all) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (s->execution || s->waiter)
            continue;
        if (now_us < s->ended_us + KEPT_US && over <= KEPT_MAX && kept_bytes <= KEPT_BYTES)
            continue;
        over--;
        judge0_remove(s);
    }
}

void judge0_close(struct server *server)
{
    (void)server;
    list_each(at, &all) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        s->execution = NULL; /* those are gone already */
        judge0_remove(s);
    }
    catalog_free();
}
