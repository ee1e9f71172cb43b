
#include <stdlib.h>
#include <string.h>

#include "plan/language.h"
#include "plan/template.h"

static int split_value(const sbr_request *req, const char *pair, char **ret_name,
                       struct template_value *ret, sbr_error *err)
{
    const char *equals = strchr(pair, '=');

    if (!equals || equals == pair)
        return err_set(err, SBR_E_INVALID, "template", "%s '%.60s' is not NAME=VALUE",
                       request_word(req, CALLED_A_VALUE), pair);
    *ret_name = strndup(pair, (size_t)(equals - pair));
    if (!*ret_name)
        return err_set_oom(err, "template");
    *ret = (struct template_value){ *ret_name, equals + 1, strlen(equals + 1) };
    return 0;
}

static int replace_program(sbr_request *req, const struct buf *program,
                           const struct template_place *place, sbr_error *err)
{
    int r = req->code ? request_set_code(req, program->data, program->len, err)
                      : request_replace_file(req, 0, program->data, program->len, err);

    if (r < 0)
        return r;
    req->code_line = place->code_line;
    req->code_lines = place->code_lines;
    return 0;
}

static int expand(sbr_request *req, struct template_input *in, sbr_error *err)
{
    struct template_place place;
    struct buf program;
    int r;

    in->code = req->code ? req->code : req->files[0].data;
    in->code_len = req->code ? req->code_len : req->files[0].len;
    in->value_word = request_word(req, CALLED_A_VALUE);
    buf_init(&program, REQUEST_MAX_BYTES);
    r = template_expand(in, &program, &place, err);
    if (r == 0)
        r = replace_program(req, &program, &place, err);
    buf_done(&program);
    return r;
}

static int find_text(const struct template_use *use, const struct language *language,
                     struct template_input *in, sbr_error *err)
{
    in->name = use->name;
    in->literal = language->literal;
    in->text = use->text ? use->text : template_find(language->name, use->name);
    if (!in->text)
        return err_set(err, SBR_E_NOT_FOUND, "template",
                       "%s has no template '%.100s'; give a path with a '/' for a file of your own",
                       language->name, use->name);
    in->len = use->text ? use->len : strlen(in->text);
    return 0;
}

int template_program(sbr_request *req, const struct template_use *use, sbr_error *err)
{
    const struct language *language = req->language ? language_find(req->language) : NULL;
    struct template_value values[TEMPLATE_MAX_VALUES];
    char *names[TEMPLATE_MAX_VALUES] = { NULL };
    struct template_input in = { .values = values, .n_values = use->n_values };
    int r = 0;

    if (!language || (!req->code && !req->n_files))
        return err_set(err, SBR_E_INVALID, "template",
                       "a template needs a program in a language that is known");
    if (req->code_line)
        return err_set(err, SBR_E_INVALID, "template", "the program is in a template already");
    if (use->n_values > TEMPLATE_MAX_VALUES)
        return err_set(err, SBR_E_INVALID, "template", "a template takes at most %d values",
                       TEMPLATE_MAX_VALUES);
    for (size_t i = 0; r == 0 && i < use->n_values; i++)
        r = split_value(req, use->values[i], &names[i], &values[i], err);
    if (r == 0)
        r = find_text(use, language, &in, err);
    if (r == 0)
        r = expand(req, &in, err);
    for (size_t i = 0; i < use->n_values; i++)
        free(names[i]);
    return r;
}
