/* Paths of the host stay here: in what a reply says, names stand for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_read.h"
#include "http/roots.h"

/* Whose reply it is, and what may stay in it. */
struct hiding {
    const struct roots *roots;
    const char *tenant;
    bool knows_roots; /* its client says paths of its roots by itself */
    bool has_output;  /* the text may be a program's, which has a home of the same name */
};

static bool is_here(const char *at, const char *path)
{
    size_t len = path ? strlen(path) : 0;

    return len && !strncmp(at, path, len) && (!at[len] || strchr("/'\"`:, ;)]}>\\\n\t", at[len]));
}

/* The name for the path that stands here; NULL: none does, or it may stay. */
static const char *name_at(const struct hiding *h, const char *at, size_t *ret_len)
{
    const struct roots *roots = h->roots;

    for (size_t i = 0; i < roots->n; i++) {
        if (strcmp(roots->at[i].tenant, h->tenant) != 0 || !is_here(at, roots->at[i].path))
            continue;
        *ret_len = strlen(roots->at[i].path);
        return h->knows_roots ? NULL : roots->at[i].name;
    }
    for (size_t i = 0; i < roots->n_hidden; i++) {
        const struct hidden_place *place = &roots->hidden[i];

        if (!is_here(at, place->path) || (place->is_home && h->has_output))
            continue;
        *ret_len = strlen(place->path);
        return place->name;
    }
    return NULL;
}

static bool has_path(const struct hiding *h, const char *text)
{
    size_t len;

    for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/'))
        if (name_at(h, at, &len))
            return true;
    return false;
}

/* The text with names for paths; NULL: it has none.  One pass: a program may have said a path as
 * often as its output is long.  The caller frees it. */
static char *hide(const struct hiding *h, const char *text)
{
    const char *from = text, *name;
    struct buf out;
    size_t len;

    if (!has_path(h, text))
        return NULL;
    buf_init(&out, SIZE_MAX / 2);
    for (const char *at = strchr(text, '/'); at; at = strchr(at, '/')) {
        name = name_at(h, at, &len);
        if (name) {
            buf_add(&out, from, (size_t)(at - from));
            buf_add_text(&out, name);
            from = at + len;
        }
        at = name ? from : at + 1;
    }
    buf_add_text(&out, from);
    return buf_take(&out, NULL);
}

/* What a program wrote stays as it is. */
static bool is_output(const char *key)
{
    static const char *const keys[] = { "stdout", "stderr", "display", "code", "data", "data_b64" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!strncmp(key, keys[i], strlen(keys[i])))
            return true;
    return false;
}

static json_t *hide_text(const struct hiding *h, const json_t *value)
{
    scoped_free char *made = json_is_string(value) ? hide(h, json_string_value(value)) : NULL;

    return made ? json_string(made) : NULL;
}

static void hide_in_tree(const struct hiding *h, json_t *at)
{
    json_t *value;
    const char *key;
    void *next;
    size_t i;

    json_object_foreach_safe(at, next, key, value) {
        json_t *hidden = is_output(key) ? NULL : hide_text(h, value);

        if (hidden && !strcmp(key, "saved") && json_string_value(hidden)[0] == '(') {
            json_decref(hidden);
            json_object_set_new(at, key, json_null()); /* it can be asked for by its id */
        } else if (hidden) {
            json_object_set_new(at, key, hidden);
        } else if (!is_output(key)) {
            hide_in_tree(h, value);
        }
    }
    json_array_foreach(at, i, value) {
        json_t *hidden = hide_text(h, value);

        if (hidden)
            json_array_set_new(at, i, hidden);
        else
            hide_in_tree(h, value);
    }
}

/* Takes both over.  JSON that is too much for a tree is a text like any other. */
static char *finish(const struct hiding *h, json_t *tree, char *text)
{
    char *made = tree ? json_dumps(tree, JSON_COMPACT | JSON_REAL_PRECISION(12)) : hide(h, text);

    json_decref(tree);
    free(text);
    return made;
}

char *roots_hide(const struct roots *roots, const char *tenant, char *text)
{
    const struct hiding h = { .roots = roots, .tenant = tenant };
    json_t *tree;

    if (!text || !has_path(&h, text))
        return text;
    tree = json_read_own(text, JSON_ALLOW_NUL);
    hide_in_tree(&h, tree);
    return finish(&h, tree, text);
}

/* `content` is for the model to read: the output of a program with words of ours, or, where there
 * is nothing beside it, words of ours alone. */
char *roots_hide_message(const struct roots *roots, const char *tenant, const char *text,
                         size_t len)
{
    struct hiding h = { .roots = roots, .tenant = tenant, .knows_roots = true };
    char *copy = strndup(text, len);
    json_t *tree, *result, *content;

    if (!copy || !has_path(&h, copy))
        return copy;
    tree = json_read_own(copy, JSON_ALLOW_NUL);
    result = json_object_get(tree, "result");
    content = json_incref(json_object_get(result, "content"));
    if (json_object_get(result, "structuredContent") || json_object_get(tree, "method")) {
        (void)json_object_del(result, "content");
        h.has_output = json_object_get(tree, "method");
        hide_in_tree(&h, tree);
        h.has_output = true;
        hide_in_tree(&h, content);
        if (content)
            json_object_set(result, "content", content);
    } else {
        hide_in_tree(&h, tree);
    }
    json_decref(content);
    return finish(&h, tree, copy);
}

void roots_hide_in(const struct roots *roots, const char *tenant, char *text, size_t size)
{
    const struct hiding h = { .roots = roots, .tenant = tenant };
    scoped_free char *made = hide(&h, text);

    if (made)
        snprintf(text, size, "%s", made);
}
