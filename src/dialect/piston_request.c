#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "dialect/piston.h"

#define RUN_MS 3000 /* Piston's own defaults */
#define COMPILE_MS 10000

static bool has_extension(const struct language *l, const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < l->extensions.n; i++)
        if (!strcmp(l->extensions.at[i], dot))
            return true;
    return false;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* Hexadecimal digits as base64; NULL: they are none. */
static json_t *from_hex(const char *text)
{
    size_t len = strlen(text) / 2;
    scoped_free char *bytes = malloc(len + 1), *base64 = NULL;

    if (!bytes || strlen(text) % 2)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return NULL;
        bytes[i] = (char)(high * 16 + low);
    }
    base64 = encoding_to_base64(bytes, len);
    return base64 ? json_string(base64) : NULL;
}

static bool is_text(const json_t *file)
{
    const char *encoding = translate_word(file, "encoding");

    return !encoding[0] || !strcmp(encoding, "utf8");
}

/* The first text is the program: as `code` unless its name is one that the language knows. */
static bool add_program(json_t *request, const struct language *l, const json_t *file)
{
    const char *name = translate_word(file, "name");

    if (has_extension(l, name))
        return false;
    json_object_set(request, "code", json_object_get(file, "content"));
    return true;
}

static int add_file(json_t *files, const json_t *file, size_t i)
{
    const char *encoding = translate_word(file, "encoding"), *name = translate_word(file, "name");
    json_t *content = json_object_get(file, "content");
    char own[32];

    snprintf(own, sizeof(own), "file%zu.code", i);
    content =
        !strcmp(encoding, "hex") ? from_hex(json_string_value(content)) : json_incref(content);
    if (!content)
        return -1;
    translate_add_file(files, name[0] ? name : own, content, is_text(file) ? "utf-8" : "base64");
    return 0;
}

static int add_files(json_t *request, const struct language *l, const json_t *given,
                     char message[PISTON_MESSAGE_SIZE])
{
    json_t *files = json_array();
    size_t i, program = SIZE_MAX;
    const json_t *file;

    json_object_set_new(request, "files", files);
    json_array_foreach(given, i, file)
        if (program == SIZE_MAX && is_text(file))
            program = i;
    if (program == SIZE_MAX) {
        snprintf(message, PISTON_MESSAGE_SIZE, "files must include at least one utf8 encoded file");
        return -1;
    }
    file = json_array_get(given, program);
    if (!add_program(request, l, file) && add_file(files, file, program) < 0)
        return -1;
    json_array_foreach(given, i, file)
        if (i != program && add_file(files, file, i) < 0) {
            snprintf(message, PISTON_MESSAGE_SIZE, "files[%zu].content is not hexadecimal", i);
            return -1;
        }
    return 0;
}

/* clang-format off */
static const struct {
    const char *name, *object, *limit;
} limits[] = {
    { "compile_memory_limit", "compile_limits", "memory_bytes" },
    { "run_memory_limit",     "limits",         "memory_bytes" },
    { "compile_timeout",      "compile_limits", "wall_ms" },
    { "run_timeout",          "limits",         "wall_ms" },
    { "compile_cpu_time",     "compile_limits", "cpu_ms" },
    { "run_cpu_time",         "limits",         "cpu_ms" },
};
/* clang-format on */

/* -1 is the most that the server allows: clients send it always. */
static int add_limits(json_t *request, const struct grant *tenant, const json_t *body,
                      char message[PISTON_MESSAGE_SIZE])
{
    json_t *run = json_object(), *compile = json_object();

    json_object_set_new(request, "limits", run);
    json_object_set_new(request, "compile_limits", compile);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        const json_t *value = json_object_get(body, limits[i].name);
        double number = json_number_value(value);

        if (!value || json_is_null(value) || number == -1)
            continue;
        if (!json_is_number(value) || number < 0 || number > 1e15) {
            snprintf(message, PISTON_MESSAGE_SIZE,
                     json_is_number(value) ? "%s must be non-negative"
                                           : "If specified, %s must be a number",
                     limits[i].name);
            return -1;
        }
        if (number > 0)
            json_object_set_new(json_object_get(request, limits[i].object), limits[i].limit,
                                json_integer((json_int_t)number));
    }
    translate_default(run, tenant, SBR_WALL_MS, RUN_MS);
    translate_default(compile, tenant, SBR_WALL_MS, COMPILE_MS);
    return 0;
}

static int check_body(const json_t *body, char message[PISTON_MESSAGE_SIZE])
{
    static const char *const words[] = { "language", "version" };
    const json_t *files = json_object_get(body, "files"), *file;
    size_t i;

    for (i = 0; i < ARRAY_LEN(words); i++)
        if (!*translate_word(body, words[i])) {
            snprintf(message, PISTON_MESSAGE_SIZE, "%s is required as a string", words[i]);
            return -1;
        }
    if (!json_is_array(files)) {
        snprintf(message, PISTON_MESSAGE_SIZE, "files is required as an array");
        return -1;
    }
    json_array_foreach(files, i, file)
        if (!json_is_string(json_object_get(file, "content"))) {
            snprintf(message, PISTON_MESSAGE_SIZE, "files[%zu].content is required as a string", i);
            return -1;
        }
    return 0;
}

const struct catalog_row *piston_find(const struct catalog *catalog, const struct grant *tenant,
                                      const json_t *body, char message[PISTON_MESSAGE_SIZE])
{
    const char *language = translate_word(body, "language"),
               *version = translate_word(body, "version");
    const struct catalog_row *row;

    if (check_body(body, message) < 0)
        return NULL;
    row = catalog_find(catalog, tenant, language, version);
    if (!row)
        snprintf(message, PISTON_MESSAGE_SIZE, "%.80s-%.80s runtime is unknown", language, version);
    return row;
}

json_t *piston_request(const struct grant *tenant, const json_t *body,
                       const struct catalog_row *row, char message[PISTON_MESSAGE_SIZE])
{
    const json_t *args = json_object_get(body, "args");
    scoped_free char *name = catalog_name(row);
    json_t *request = json_pack("{s:s}", "language", name ? name : "");

    if (args && !json_is_null(args))
        json_object_set(request, "args", (json_t *)args);
    if (add_files(request, row->language, json_object_get(body, "files"), message) < 0 ||
        add_limits(request, tenant, body, message) < 0) {
        json_decref(request);
        return NULL;
    }
    return request;
}
