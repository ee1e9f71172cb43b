/* The answer of a session to a person: a line for each of its words. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/text.h"
#include "cli/amounts.h"
#include "cli/present.h"
#include "cli/session_actions.h"

#define LABEL 22

const char *session_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

void session_print_json(const char *text)
{
    json_t *json = present_has_lines() ? json_read_own(text, JSON_ALLOW_NUL) : NULL;
    scoped_free char *lines = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

    json_decref(json);
    printf("%s\n", lines ? lines : text);
}

static void print_bytes(double value)
{
    char text[24];

    amount_of_bytes((uint64_t)value, text, sizeof(text));
    fputs(text, stdout);
}

static void print_ms(double value)
{
    printf("%.1f ms", value);
}

static void print_seconds(double value)
{
    printf("%.1f s", value);
}

static void print_time(double value)
{
    time_t at = (time_t)value;
    char text[40] = "";
    struct tm tm;

    if (localtime_r(&at, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    fputs(text, stdout);
}

static void print_number(double value)
{
    printf("%.15g", value);
}

/* What the end of a name says of a number. */
static const struct unit {
    const char *end;
    void (*print)(double value);
} units[] = {
    { "_bytes", print_bytes }, { "_ms", print_ms },  { "_s", print_seconds },
    { "created", print_time }, { "", print_number },
};

static const struct unit *unit_of(const char *name)
{
    size_t i = 0, len = strlen(name);

    while (strlen(units[i].end) > len ||
           strcmp(name + len - strlen(units[i].end), units[i].end) != 0)
        i++;
    return &units[i];
}

/* A word of a column; the kernel, which may be hostile, has chosen some of them. */
static void print_word(const char *word, int width)
{
    char visible[128];

    text_copy_visibly(visible, sizeof(visible), word, strlen(word));
    printf("%-*s ", width, visible);
}

static void print_label(const char *above, const char *name, size_t without)
{
    char label[64];

    if (strlen(name) == without)
        without = 0;
    snprintf(label, sizeof(label), "%s%s%.*s", above, *above ? " " : "",
             (int)(strlen(name) - without), name);
    for (char *c = label; *c; c++)
        if (*c == '_')
            *c = ' ';
    print_word(label, LABEL);
}

static void print_text(struct display *d, const char *text)
{
    fflush(stdout);
    display_text(d, STDOUT_FILENO, text, strlen(text));
    fflush(stdout);
}

static void print_list(struct display *d, const json_t *list)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one) {
        scoped_free char *text =
            json_is_string(one) ? NULL : json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY);

        fputs(i ? ", " : "", stdout);
        print_text(d, text ? text : json_string_value(one));
    }
}

/* What is empty is left out. */
static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_string(value) && !json_string_length(value)) ||
           (json_is_array(value) && !json_array_size(value));
}

static void print_field(struct display *d, const char *above, const char *name, const json_t *value)
{
    const struct unit *unit = unit_of(name);
    bool counts = json_is_number(value);

    print_label(above, name, counts ? strlen(unit->end) : 0);
    if (counts)
        unit->print(json_number_value(value));
    else if (json_is_string(value))
        print_text(d, json_string_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", stdout);
    else
        print_list(d, value);
    fputc('\n', stdout);
}

/* An object within is shown by its fields, with its name before theirs. */
static void print_fields(struct display *d, json_t *object)
{
    const char *name, *inner;
    json_t *value, *one;

    json_object_foreach(object, name, value) {
        if (!json_is_object(value) && !is_empty(value))
            print_field(d, "", name, value);
        json_object_foreach(value, inner, one)
            if (!is_empty(one))
                print_field(d, name, inner, one);
    }
}

void session_print_vars(struct display *d, const json_t *vars)
{
    const json_t *one;
    size_t i;

    json_array_foreach(vars, i, one) {
        char size[24];

        amount_of_bytes((uint64_t)json_integer_value(json_object_get(one, "size")), size,
                        sizeof(size));
        print_word(session_text(one, "name"), 16);
        print_word(session_text(one, "type"), 12);
        printf("%6s  ", size);
        print_text(d, session_text(one, "value"));
        fputc('\n', stdout);
    }
}

void session_print_answer(const struct options *o, const char *text)
{
    json_t *answer = o->json ? NULL : json_read_own(text, JSON_ALLOW_NUL);
    const json_t *vars = json_object_get(json_object_get(answer, "data"), "vars");
    struct display display;

    if (!json_is_object(answer)) {
        session_print_json(text);
        json_decref(answer);
        return;
    }
    display_init(&display, o);
    if (vars)
        session_print_vars(&display, vars);
    else
        print_fields(&display, answer);
    display_done(&display);
    json_decref(answer);
}
