#include "cli/audit_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json_read.h"
#include "config/audit.h"

/* A line of audit-code.jsonl as a program. */
struct view {
    struct audit_program program;
    char *language, *code, *path;
    struct request_file *files;
};

static void view_done(struct view *v)
{
    for (size_t i = 0; i < v->program.n_files; i++) {
        free(v->files[i].path);
        free(v->files[i].data);
    }
    string_list_done(&v->program.args);
    audit_program_done(&v->program);
    free(v->files);
    free(v->language);
    free(v->code);
    free(v->path);
}

/* False: it is there and no base64. */
static bool take_bytes(const json_t *value, char **ret, size_t *ret_len)
{
    *ret = NULL;
    *ret_len = 0;
    return !value || (json_is_string(value) &&
                      encoding_from_base64(json_string_value(value), ret, ret_len) == 0);
}

static bool take_files(const json_t *line, struct view *v)
{
    const json_t *list = json_object_get(line, "files"), *file;
    size_t i, len;

    v->program.files = v->files = calloc(json_array_size(list) + 1, sizeof(*v->files));
    if (!v->files)
        return false;
    json_array_foreach(list, i, file) {
        struct request_file *to = &v->files[v->program.n_files++];

        if (!take_bytes(json_object_get(file, "path"), &to->path, &len) || !to->path ||
            !take_bytes(json_object_get(file, "data"), &to->data, &to->len))
            return false;
    }
    return true;
}

static bool take_args(const json_t *line, struct view *v)
{
    const json_t *list = json_object_get(line, "args"), *arg;
    sbr_error ignored;
    size_t i, len;

    json_array_foreach(list, i, arg) {
        scoped_free char *text = NULL;

        if (!take_bytes(arg, &text, &len) || !text ||
            string_list_add(&v->program.args, text, &ignored) < 0)
            return false;
    }
    return true;
}

static bool read_view(const json_t *line, struct view *v)
{
    struct audit_program *p = &v->program;
    const json_t *cell = json_object_get(line, "cell");
    size_t len;

    p->is_cell = cell != NULL;
    if (!take_bytes(json_object_get(line, "language"), &v->language, &len) ||
        !take_bytes(cell ? cell : json_object_get(line, "code"), &v->code, &p->code_len) ||
        !take_bytes(json_object_get(line, "program"), &v->path, &len) ||
        !take_bytes(json_object_get(line, "program_data"), &p->program_data, &p->program_len))
        return false;
    p->language = v->language;
    p->code = v->code;
    p->program = v->path;
    return take_files(line, v) && take_args(line, v);
}

/* True for a line whose digest is that of its content. */
static bool is_sound(const json_t *line, struct view *v)
{
    const char *digest = json_string_value(json_object_get(line, "program_sha256"));
    char found[SHA256_HEX_SIZE];

    if (!digest || !read_view(line, v))
        return false;
    audit_program_digest(&v->program, found);
    return !strcmp(found, digest);
}

/* What is no text is shown as base64. */
static json_t *shown(const char *data, size_t len)
{
    json_t *text = json_stringn(data ? data : "", len);
    scoped_free char *base64 = text ? NULL : encoding_to_base64(data, len);

    return text ? text : json_pack("{s:s}", "base64", base64 ? base64 : "");
}

static json_t *show(const struct view *v)
{
    const struct audit_program *p = &v->program;
    json_t *out = json_object(), *files = json_object(), *args = json_array();

    if (p->language)
        json_object_set_new(out, "language", shown(p->language, strlen(p->language)));
    if (p->code)
        json_object_set_new(out, "code", shown(p->code, p->code_len));
    for (size_t i = 0; i < p->n_files; i++)
        json_object_set_new(files, p->files[i].path, shown(p->files[i].data, p->files[i].len));
    if (p->program)
        json_object_set_new(files, p->program, shown(p->program_data, p->program_len));
    for (size_t i = 0; i < p->args.n; i++)
        json_array_append_new(args, shown(p->args.items[i], strlen(p->args.items[i])));
    if (json_object_size(files))
        json_object_set(out, "files", files);
    if (json_array_size(args))
        json_object_set(out, "args", args);
    json_decref(files);
    json_decref(args);
    return out;
}

/* The state of a search between two lines. */
struct search {
    const char *digest; /* NULL: all are counted */
    json_t *found;
    struct audit_view_counts counts;
};

static void look(void *context, const char *text, size_t len)
{
    struct search *s = context;
    json_t *line;
    struct view v = { 0 };
    bool sound;

    if (s->found || (s->digest && !memmem(text, len, s->digest, strlen(s->digest))))
        return;
    line = json_read(text, len, &json_read_answer, JSON_REJECT_DUPLICATES, "the line", NULL);
    sound = line && is_sound(line, &v);
    *(sound ? &s->counts.kept : &s->counts.damaged) += 1;
    if (sound && s->digest)
        s->found = show(&v);
    view_done(&v);
    json_decref(line);
}

int audit_view_find(const char *digest, json_t **ret, sbr_error *err)
{
    struct search s = { .digest = digest };

    if (audit_chain_read_code(look, &s, err) < 0)
        return err->code;
    *ret = s.found;
    return 0;
}

int audit_view_count(struct audit_view_counts *ret, sbr_error *err)
{
    struct search s = { .digest = NULL };

    if (audit_chain_read_code(look, &s, err) < 0)
        return err->code;
    *ret = s.counts;
    return 0;
}
