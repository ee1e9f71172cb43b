/* A program in a harness: --template and --set. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "cli/source.h"
#include "plan/language.h"
#include "plan/template.h"

static int read_values(const struct options *o, struct template_value *values, char **names,
                       sbr_error *err)
{
    if (o->sets.n > TEMPLATE_MAX_VALUES)
        return err_set(err, SBR_E_INVALID, "template", "a template takes at most %d values",
                       TEMPLATE_MAX_VALUES);
    for (size_t i = 0; i < o->sets.n; i++) {
        const char *equals = strchr(o->sets.items[i], '=');

        if (!equals || equals == o->sets.items[i])
            return err_set(err, SBR_E_INVALID, "template", "--set '%.60s' is not NAME=VALUE",
                           o->sets.items[i]);
        names[i] = strndup(o->sets.items[i], (size_t)(equals - o->sets.items[i]));
        if (!names[i])
            return err_set_oom(err, "template");
        values[i] = (struct template_value){ names[i], equals + 1, strlen(equals + 1) };
    }
    return 0;
}

/* One that ships with the language, else a file. */
static int find_template(const struct options *o, const struct language *language,
                         struct template_input *in, char **ret_owned, sbr_error *err)
{
    in->name = o->template;
    in->text = strchr(o->template, '/') || access(o->template, F_OK) == 0
                   ? NULL
                   : template_find(language->name, o->template);
    if (in->text) {
        in->len = strlen(in->text);
        return 0;
    }
    if (source_read_path(o->template, ret_owned, &in->len, err) < 0)
        return err->code;
    in->text = *ret_owned;
    return 0;
}

static int replace_program(sbr_request *req, const struct buf *program,
                           const struct template_place *place, sbr_error *err)
{
    req->code_line = place->code_line;
    req->code_lines = place->code_lines;
    if (req->code)
        return request_set_code(req, program->data, program->len, err);
    return request_replace_file(req, 0, program->data, program->len, err);
}

static int expand(struct options *o, const struct language *language, struct template_input *in,
                  sbr_error *err)
{
    sbr_request *req = o->request;
    struct template_place place;
    struct buf program;
    int r;

    in->code = req->code ? req->code : req->files[0].data;
    in->code_len = req->code ? req->code_len : req->files[0].len;
    in->literal = language->literal;
    buf_init(&program, REQUEST_MAX_BYTES);
    r = template_expand(in, &program, &place, err);
    if (r == 0)
        r = replace_program(req, &program, &place, err);
    buf_done(&program);
    return r;
}

int source_put_in_template(struct options *o, sbr_error *err)
{
    const struct language *language =
        o->request->language ? language_find(o->request->language) : NULL;
    struct template_value values[TEMPLATE_MAX_VALUES];
    char *names[TEMPLATE_MAX_VALUES] = { NULL };
    struct template_input in = { .values = values, .n_values = o->sets.n };
    scoped_free char *text = NULL;
    int r;

    if (!o->template && o->sets.n)
        return err_set(err, SBR_E_INVALID, "template", "--set needs a --template to set it in");
    if (!o->template)
        return 0;
    if (!language || (!o->request->code && !o->request->n_files))
        return err_set(err, SBR_E_INVALID, "template",
                       "a template needs a program in a language that is known");
    r = read_values(o, values, names, err);
    if (r == 0)
        r = find_template(o, language, &in, &text, err);
    if (r == 0)
        r = expand(o, language, &in, err);
    for (size_t i = 0; i < o->sets.n && i < TEMPLATE_MAX_VALUES; i++)
        free(names[i]);
    return r;
}
