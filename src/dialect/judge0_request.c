#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialect/judge0.h"
#include "http/server.h"
#include "model/limits.h"

#define WORDS_MAX 512
#define CPU_S 5 /* Judge0's own defaults */
#define WALL_S 10

/* Adds a message about a field. */
static void complain(json_t **errors, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void complain(json_t **errors, const char *field, const char *format, ...)
{
    char message[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    if (!*errors)
        *errors = json_object();
    json_object_set_new(*errors, field, json_pack("[s]", message));
}

/* Base64 of a text of the body, as it is kept; false: it is none. */
static bool take_text(const json_t *body, const char *name, bool base64, json_t *row)
{
    const json_t *value = json_object_get(body, name);
    scoped_free char *bytes = NULL, *clean = NULL;
    size_t n = 0, len;

    if (!json_is_string(value) || !base64) {
        json_object_set_new(row, name,
                            translate_base64(json_string_value(value), json_string_length(value)));
        return true;
    }
    clean = malloc(json_string_length(value) + 1);
    for (const char *c = json_string_value(value); clean && *c; c++)
        if (!strchr(" \r\n\t", *c))
            clean[n++] = *c;
    if (!clean)
        return false;
    clean[n] = '\0';
    if (encoding_from_base64(clean, &bytes, &len) < 0)
        return false;
    json_object_set_new(row, name, translate_base64(bytes, len));
    return true;
}

/* clang-format off */
static const struct {
    const char *name;
    double least;
    enum sbr_limit limit;
    double unit; /* of the limit, in one of Judge0's; 0: it is taken and has no effect */
} numbers[] = {
    { "cpu_time_limit",               0,    SBR_CPU_MS,       1000 },
    { "wall_time_limit",              1,    SBR_WALL_MS,      1000 },
    { "memory_limit",                 2048, SBR_MEMORY_BYTES, 1024 },
    { "max_processes_and_or_threads", 1,    SBR_PIDS,         1 },
    { "max_file_size",                0,    SBR_OUTPUT_BYTES, 1024 },
    { "cpu_extra_time",               0,    SBR_CPU_MS,       0 },
    { "stack_limit",                  0,    SBR_MEMORY_BYTES, 0 },
};
/* clang-format on */

static void take_number(const json_t *body, size_t i, const struct grant *tenant, json_t *row,
                        json_t *limits, json_t **errors)
{
    const char *name = numbers[i].name;
    const json_t *value = json_object_get(body, name);
    double number =
        json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
    uint64_t top = grant_most(tenant, numbers[i].limit);
    bool bounded = top != LIMIT_NONE;
    double most = (double)top;

    json_object_set_new(row, name, json_null());
    if (!value || json_is_null(value))
        return;
    json_object_set(row, name, (json_t *)value);
    if (!json_is_number(value) && !json_is_string(value))
        complain(errors, name, "is not a number");
    else if (!(number >= numbers[i].least))
        complain(errors, name, "must be greater than or equal to %g", numbers[i].least);
    else if (number > 1e9 || (numbers[i].unit > 0 && bounded && number * numbers[i].unit > most))
        complain(errors, name, "must be less than or equal to %g",
                 bounded ? most / numbers[i].unit : 1e9);
    else if (numbers[i].unit > 0 && number > 0)
        json_object_set_new(limits, limit_defs[numbers[i].limit].name,
                            json_integer((json_int_t)(number * numbers[i].unit)));
}

static json_t *take_limits(const json_t *body, const struct grant *tenant, json_t *row,
                           json_t **errors)
{
    json_t *limits = json_object();

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        take_number(body, i, tenant, row, limits, errors);
    translate_default(limits, tenant, SBR_CPU_MS, CPU_S * 1000);
    translate_default(limits, tenant, SBR_WALL_MS, WALL_S * 1000);
    return limits;
}

/* clang-format off */
static const struct {
    const char *name, *message;
} refused[] = {
    { "enable_per_process_and_thread_time_limit",   "this option cannot be enabled" },
    { "enable_per_process_and_thread_memory_limit", "this option cannot be enabled" },
    { "additional_files",                           "setting additional files is not allowed" },
};
/* clang-format on */

static void check_refused(const json_t *body, json_t *row, json_t **errors)
{
    const json_t *runs = json_object_get(body, "number_of_runs");

    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        const json_t *value = json_object_get(body, refused[i].name);

        json_object_set_new(row, refused[i].name, i < 2 ? json_false() : json_null());
        if (json_is_true(value) || (json_is_string(value) && json_string_length(value)))
            complain(errors, refused[i].name, "%s", refused[i].message);
    }
    json_object_set_new(row, "number_of_runs", json_integer(1));
    if (json_is_number(runs) && json_number_value(runs) != 1)
        complain(errors, "number_of_runs", "must be equal to 1");
}

static void take_words(const json_t *body, const char *name, const char *ours, json_t *request,
                       json_t *row, json_t **errors)
{
    const json_t *value = json_object_get(body, name);

    json_object_set(row, name, value ? (json_t *)value : json_null());
    if (!json_is_string(value))
        return;
    if (json_string_length(value) > WORDS_MAX)
        complain(errors, name, "is too long (maximum is %d characters)", WORDS_MAX);
    else
        json_object_set_new(request, ours, translate_words(json_string_value(value)));
}

static void take_flags(const struct server *server, const json_t *body, json_t *request,
                       json_t *row, json_t **errors)
{
    bool network = json_is_true(json_object_get(body, "enable_network"));
    const json_t *callback = json_object_get(body, "callback_url");

    json_object_set_new(row, "enable_network", json_boolean(network));
    json_object_set_new(row, "redirect_stderr_to_stdout",
                        json_boolean(
                            json_is_true(json_object_get(body, "redirect_stderr_to_stdout"))));
    if (network)
        json_object_set_new(request, "network", json_string("full"));
    json_object_set(row, "callback_url", callback ? (json_t *)callback : json_null());
    if (json_is_string(callback) &&
        !judge0_callback_is_allowed(server, json_string_value(callback)))
        complain(errors, "callback_url",
                 "is not of a host that the operator allows with --allow-callback");
}

void judge0_take_language(const struct judge0_given *given, struct catalog_row *ret_language,
                          json_t *row, json_t **errors)
{
    const struct catalog *catalog = given->server->catalog;
    const json_t *value = json_object_get(given->body, "language_id");
    json_int_t id = json_is_string(value) ? strtol(json_string_value(value), NULL, 10)
                                          : json_integer_value(value);
    const struct catalog_row *language = judge0_language(catalog, given->tenant, id);

    json_object_set_new(row, "language_id", json_integer(id));
    json_object_set_new(row, "language", judge0_describe_language(catalog, given->tenant, id));
    if (!value || json_is_null(value))
        complain(errors, "language_id", "can't be blank");
    else if (!language)
        complain(errors, "language_id", "language with id %lld doesn't exist", (long long)id);
    *ret_language = language ? *language : (struct catalog_row){ .language = NULL };
}

static void take_texts(const json_t *body, bool base64, json_t *row, json_t **errors)
{
    static const char *const names[] = { "source_code", "stdin", "expected_output" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!take_text(body, names[i], base64, row))
            complain(errors, names[i], "is not base64");
    if (!json_object_get(*errors, "source_code") && !*translate_word(row, "source_code"))
        complain(errors, "source_code", "can't be blank");
}

json_t *judge0_request(const struct judge0_given *given, const struct catalog_row *language,
                       json_t *row, json_t **ret_errors)
{
    const json_t *body = given->body;
    json_t *request = json_object(), *files = json_array();
    scoped_free char *name = language->language ? catalog_name(language) : NULL;

    take_texts(body, given->base64, row, ret_errors);
    json_object_set_new(request, "limits", take_limits(body, given->tenant, row, ret_errors));
    take_words(body, "command_line_arguments", "args", request, row, ret_errors);
    take_words(body, "compiler_options", "compile_args", request, row, ret_errors);
    if (name && language->language->compile.run.n == 0)
        (void)json_object_del(request, "compile_args");
    take_flags(given->server, body, request, row, ret_errors);
    check_refused(body, row, ret_errors);
    if (*ret_errors || !name) {
        json_decref(request);
        json_decref(files);
        return NULL;
    }
    json_object_set_new(request, "language", json_string(name));
    translate_add_file(files, language->language->source,
                       json_incref(json_object_get(row, "source_code")), "base64");
    json_object_set_new(request, "files", files);
    return request;
}
