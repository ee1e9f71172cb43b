/* Arguments of tools are checked by the schemas that the client was given: what they promise is
 * what holds.  Only the words of JSON Schema that tools.json uses are known here. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mcp/mcp_internal.h"

struct check {
    const char *what; /* the path of the value, for the sentence */
    char *why;
};

#define WHY_SIZE 256
#define WHAT_SIZE 100

static bool refuse(const struct check *check, const char *rule, const char *detail)
{
    char shown[80];

    text_copy_visibly(shown, sizeof(shown), detail, strlen(detail));
    snprintf(check->why, WHY_SIZE, "%s %s%s", check->what, rule, shown);
    return false;
}

static const struct {
    const char *name;
    unsigned int types;
} type_names[] = {
    { "object", 1u << JSON_OBJECT },
    { "array", 1u << JSON_ARRAY },
    { "string", 1u << JSON_STRING },
    { "integer", 1u << JSON_INTEGER },
    { "number", 1u << JSON_INTEGER | 1u << JSON_REAL },
    { "boolean", 1u << JSON_TRUE | 1u << JSON_FALSE },
};

static bool check_type(const struct check *check, const json_t *schema, const json_t *value)
{
    const char *type = mcp_text(schema, "type");

    for (size_t i = 0; type && i < ARRAY_LEN(type_names); i++)
        if (!strcmp(type, type_names[i].name) && !(type_names[i].types >> json_typeof(value) & 1))
            return refuse(check, "has another type than ", type);
    return true;
}

static bool check_words(const struct check *check, const json_t *schema, const json_t *value)
{
    json_t *words = json_object_get(schema, "enum"), *word;
    char list[128] = "";
    size_t i, used = 0;

    if (!words)
        return true;
    json_array_foreach(words, i, word) {
        if (json_equal(word, value))
            return true;
        if (used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                     json_string_value(word));
    }
    return refuse(check, "is none of: ", list);
}

static bool check_number(const struct check *check, const json_t *schema, const json_t *value)
{
    json_t *min = json_object_get(schema, "minimum"), *max = json_object_get(schema, "maximum");
    json_t *above = json_object_get(schema, "exclusiveMinimum");
    double number = json_number_value(value);
    char text[32];

    if (!json_is_number(value))
        return true;
    snprintf(text, sizeof(text), "%.0f", json_number_value(max));
    if (max && !(number <= json_number_value(max)))
        return refuse(check, "is more than ", text);
    snprintf(text, sizeof(text), "%.0f", json_number_value(min ? min : above));
    if ((min && !(number >= json_number_value(min))) ||
        (above && !(number > json_number_value(above))))
        return refuse(check, "is not more than ", text);
    return true;
}

static bool check_size(const struct check *check, const json_t *schema, const json_t *value)
{
    json_t *items = json_object_get(schema, "maxItems"),
           *length = json_object_get(schema, "maxLength");

    if (items && json_array_size(value) > (size_t)json_integer_value(items))
        return refuse(check, "has too many entries", "");
    if (length && json_string_length(value) > (size_t)json_integer_value(length))
        return refuse(check, "is too long", "");
    return true;
}

static bool check_members(const struct check *check, const json_t *schema, json_t *value)
{
    json_t *properties = json_object_get(schema, "properties"), *member, *name;
    json_t *others = json_object_get(schema, "additionalProperties");
    const char *key;
    size_t i;

    json_array_foreach(json_object_get(schema, "required"), i, name)
        if (!json_object_get(value, json_string_value(name)))
            return refuse(check, "lacks ", json_string_value(name));
    json_object_foreach(value, key, member) {
        json_t *known = json_object_get(properties, key);
        char what[WHAT_SIZE], shown[40];

        if (!known && json_is_false(others))
            return refuse(check, "has no member ", key);
        text_copy_visibly(shown, sizeof(shown), key, strlen(key));
        snprintf(what, sizeof(what), "%.50s.%s", check->what, shown);
        if (!known)
            known = others;
        if (json_is_object(known) && !mcp_schema_check(known, member, what, check->why))
            return false;
    }
    return true;
}

bool mcp_schema_check(const json_t *schema, const json_t *value, const char *what, char why[256])
{
    const struct check check = { what, why };
    json_t *items = json_object_get(schema, "items"), *item;
    size_t i;

    if (!check_type(&check, schema, value) || !check_words(&check, schema, value) ||
        !check_number(&check, schema, value) || !check_size(&check, schema, value))
        return false;
    json_array_foreach(value, i, item) {
        char at[WHAT_SIZE];

        snprintf(at, sizeof(at), "%.70s[%zu]", what, i);
        if (items && !mcp_schema_check(items, item, at, why))
            return false;
    }
    return !json_is_object(value) || check_members(&check, schema, (json_t *)value);
}
