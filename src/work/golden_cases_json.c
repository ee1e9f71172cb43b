/* Golden cases as JSON: the files of a case's directory are the fields of an object. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/text.h"
#include "work/golden_cases.h"
#include "work/normalize.h"

static int wrong(const char *field, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "golden", "the field '%s' of a case is no %s", field, what);
}

static int copy(const char *data, size_t len, struct golden_text *ret, sbr_error *err)
{
    ret->data = malloc(len + 1);
    if (!ret->data)
        return err_set_oom(err, "golden");
    memcpy(ret->data, data, len);
    ret->data[len] = '\0';
    ret->len = len;
    return 0;
}

static int read_text(const json_t *from, const char *key, struct golden_text *ret, sbr_error *err)
{
    const json_t *value = json_object_get(from, key);

    if (!value)
        return 0;
    if (!json_is_string(value))
        return wrong(key, "string", err);
    return copy(json_string_value(value), json_string_length(value), ret, err);
}

static int read_files(const json_t *from, const char *key, struct request_file **ret, size_t *ret_n,
                      sbr_error *err)
{
    json_t *all = json_object_get(from, key), *value;
    const char *path;

    if (!all)
        return 0;
    if (!json_is_object(all))
        return wrong(key, "object with paths and texts", err);
    *ret = calloc(json_object_size(all) + 1, sizeof(**ret));
    if (!*ret)
        return err_set_oom(err, "golden");
    json_object_foreach(all, path, value) {
        struct request_file *file = &(*ret)[*ret_n];
        struct golden_text text = { 0 };

        if (!json_is_string(value) || !text_is_safe_relative_path(path, REQUEST_MAX_PATH))
            return wrong(key, "object with relative paths and texts", err);
        file->path = strdup(path);
        if (!file->path ||
            copy(json_string_value(value), json_string_length(value), &text, err) < 0) {
            free(file->path);
            return err_set_oom(err, "golden");
        }
        file->data = text.data;
        file->len = text.len;
        ++*ret_n;
    }
    return 0;
}

static int read_status(const json_t *from, struct golden_case *c, sbr_error *err)
{
    const json_t *value = json_object_get(from, "status");

    if (!value)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > 255)
        return wrong("status", "number from 0 to 255", err);
    c->has_status = true;
    c->status = (int)json_integer_value(value);
    return 0;
}

static int read_case(const json_t *from, struct golden_case *c, sbr_error *err)
{
    struct golden_text name = { 0 }, command = { 0 }, words = { 0 };
    int r = read_text(from, "name", &name, err) < 0 ? err->code
                                                    : read_text(from, "command", &command, err);

    c->name = name.data;
    c->command = command.data;
    if (r < 0)
        return r;
    if (!json_is_object(from) || !c->name || !c->command)
        return err_set(err, SBR_E_INVALID, "golden", "a case is an object with name and command");
    r = read_text(from, "normalize", &words, err);
    if (r == 0 && words.data)
        r = normalize_parse(words.data, &c->normalizers, err);
    free(words.data);
    if (r < 0 || read_text(from, "stdin", &c->input, err) < 0 ||
        read_text(from, "stdout", &c->out, err) < 0 ||
        read_text(from, "stderr", &c->err, err) < 0 || read_status(from, c, err) < 0 ||
        read_files(from, "input", &c->inputs, &c->n_inputs, err) < 0)
        return err->code;
    c->has_tree = json_object_get(from, "tree") != NULL;
    return read_files(from, "tree", &c->tree, &c->n_tree, err);
}

int golden_cases_parse(const char *json, struct golden_cases *ret, sbr_error *err)
{
    json_t *list =
        json_read(json, strlen(json), &json_read_answer, JSON_REJECT_DUPLICATES, "`cases`", NULL);
    size_t n = json_array_size(list);
    int r = 0;

    *ret = (struct golden_cases){ 0 };
    if (!n || n > GOLDEN_MOST_CASES)
        r = err_set(err, SBR_E_INVALID, "golden", "`cases` is an array of 1 to %d cases",
                    GOLDEN_MOST_CASES);
    else if (!(ret->items = calloc(n, sizeof(*ret->items))))
        r = err_set_oom(err, "golden");
    for (size_t i = 0; r == 0 && i < n; i++)
        r = read_case(json_array_get(list, i), &ret->items[ret->n++], err);
    json_decref(list);
    if (r < 0)
        golden_cases_done(ret);
    return r;
}
