#include "http/work_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"

#define MOST_REPEATS 1000
#define MOST_TEXTS 10000
#define MOST_INPUTS 1000

/* Text as C has it: a NUL inside would end it early, and mean something else. */
static bool is_text(const json_t *value)
{
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

static bool is_object(const json_t *value)
{
    return json_is_object(value);
}

static bool is_array(const json_t *value)
{
    return json_is_array(value);
}

static bool is_boolean(const json_t *value)
{
    return !value || json_is_boolean(value);
}

static bool is_name(const json_t *value)
{
    return !value || is_text(value);
}

static bool is_between(const json_t *value, json_int_t least)
{
    return !value || (json_is_integer(value) && json_integer_value(value) >= least &&
                      json_integer_value(value) <= MOST_REPEATS);
}

static bool is_repeat(const json_t *value)
{
    return is_between(value, 1);
}

static bool is_warm_up(const json_t *value)
{
    return is_between(value, 0);
}

static bool is_tolerance(const json_t *value)
{
    return !value || (json_is_number(value) && json_number_value(value) >= 0);
}

/* Also when there is none. */
static bool is_array_of(const json_t *value, size_t most, bool (*fits)(const json_t *item))
{
    const json_t *item;
    size_t i;

    if (value && (!json_is_array(value) || json_array_size(value) > most))
        return false;
    json_array_foreach(value, i, item)
        if (!fits(item))
            return false;
    return true;
}

static bool is_texts(const json_t *value)
{
    return is_array_of(value, MOST_TEXTS, is_text);
}

static bool is_input(const json_t *value)
{
    const json_t *name = json_object_get(value, "name");
    const char *encoding = json_string_value(json_object_get(value, "encoding"));
    size_t known = 1 + (name != NULL) + (encoding != NULL);

    return json_is_object(value) && json_object_size(value) == known && is_name(name) &&
           json_is_string(json_object_get(value, "content")) &&
           (!encoding || !strcmp(encoding, "utf-8") || !strcmp(encoding, "base64"));
}

static bool is_inputs(const json_t *value)
{
    return is_array_of(value, MOST_INPUTS, is_input);
}

/* clang-format off */
static const struct {
    const char *name;
    bool (*fits)(const json_t *value);
    const char *detail;
} fields[] = {
    { "a",         is_object,    "`a` is a request: a JSON object" },
    { "b",         is_object,    "`b` is a request: a JSON object" },
    { "calls",     is_texts,     "`calls` is an array of lines that have to be true" },
    { "cases",     is_array,     "`cases` is an array" },
    { "checker",   is_name,      "`checker` is exact, tokens or floats" },
    { "coverage",  is_boolean,   "`coverage` is true or false" },
    { "functions", is_boolean,   "`functions` is true or false" },
    { "inputs",    is_inputs,    "`inputs` is an array of at most 1000 objects with `content`, and "
                                 "`name` and `encoding` (utf-8, base64) where they are needed" },
    { "paths",     is_texts,     "`paths` is an array of paths of `files`" },
    { "repeat",    is_repeat,    "`repeat` is 1 to 1000" },
    { "runner",    is_name,      "`runner` is the name of a test runner" },
    { "skip",      is_texts,     "`skip` is an array of names of checks" },
    { "tolerance", is_tolerance, "`tolerance` is a number that is not negative" },
    { "tool",      is_name,      "`tool` is the name of a build tool" },
    { "twice",     is_boolean,   "`twice` is true or false" },
    { "warm_up",   is_warm_up,   "`warm_up` is 0 to 1000" },
};
/* clang-format on */

const char *work_fields_fault(const char *field, const json_t *value)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!strcmp(fields[i].name, field))
            return fields[i].fits(value) ? NULL : fields[i].detail;
    return "there is no such field";
}

unsigned int work_fields_count(const json_t *own, const char *field, unsigned int otherwise)
{
    const json_t *value = json_object_get(own, field);

    return value ? (unsigned int)json_integer_value(value) : otherwise;
}

const char **work_fields_texts(const json_t *own, const char *field)
{
    const json_t *list = json_object_get(own, field), *item;
    const char **words = calloc(json_array_size(list) + 1, sizeof(*words));
    size_t i;

    if (words)
        json_array_foreach(list, i, item)
            words[i] = json_string_value(item);
    return words;
}

const char *work_fields_decimal(const json_t *own, const char *field, char *buf, size_t size)
{
    const json_t *value = json_object_get(own, field);

    if (!value)
        return NULL;
    snprintf(buf, size, "%.17g", json_number_value(value));
    return buf;
}

static int take_input(const json_t *from, sbr_input *ret, sbr_error *err)
{
    const json_t *content = json_object_get(from, "content");
    const char *encoding = json_string_value(json_object_get(from, "encoding"));
    const char *name = json_string_value(json_object_get(from, "name"));
    char *data = NULL;

    ret->name = name ? name : "";
    ret->len = json_string_length(content);
    if (encoding && !strcmp(encoding, "base64")) {
        if (encoding_from_base64(json_string_value(content), &data, &ret->len) < 0)
            return err_set(err, SBR_E_INVALID, "compare", "the input '%.60s' is not valid Base64",
                           ret->name);
    } else if ((data = malloc(ret->len + 1))) {
        memcpy(data, json_string_value(content), ret->len);
    }
    ret->data = data;
    return data ? 0 : err_set_oom(err, "compare");
}

int work_fields_inputs(const json_t *own, struct work_inputs *ret, sbr_error *err)
{
    const json_t *list = json_object_get(own, "inputs"), *item;
    size_t i;

    if (!json_array_size(list))
        return 0;
    ret->items = calloc(json_array_size(list), sizeof(*ret->items));
    if (!ret->items)
        return err_set_oom(err, "compare");
    json_array_foreach(list, i, item) {
        if (take_input(item, &ret->items[i], err) < 0)
            return err->code;
        ret->n++;
    }
    return 0;
}

void work_fields_inputs_done(struct work_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        free((void *)(uintptr_t)inputs->items[i].data);
    free(inputs->items);
}
