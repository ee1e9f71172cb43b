#include "lib/request_template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "plan/language.h"
#include "plan/template.h"

static int read_values(const char *const *sets, size_t n, struct template_value *values,
                       char **names, sbr_error *err)
{
    if (n > TEMPLATE_MAX_VALUES)
        return err_set(err, SBR_E_INVALID, "template", "a template takes at most %d values",
                       TEMPLATE_MAX_VALUES);
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(sets[i], '=');

        if (!equals || equals == sets[i])
            return err_set(err, SBR_E_INVALID, "template", "--set '%.60s' is not NAME=VALUE",
                           sets[i]);
        names[i] = strndup(sets[i], (size_t)(equals - sets[i]));
        if (!names[i])
            return err_set_oom(err, "template");
        values[i] = (struct template_value){ names[i], equals + 1, strlen(equals + 1) };
    }
    return 0;
}

static int read_text(const char *path, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool missing = fd < 0 && errno == ENOENT;

    if (fd >= 0)
        return fd_read_text(fd, REQUEST_MAX_BYTES, ret, ret_len, err);
    err_set_errno(err, "template", "cannot read '%.200s'", path);
    if (missing)
        err->code = SBR_E_NOT_FOUND;
    return err->code;
}

/* One that ships with the language, else a file. */
static int find_template(const char *name, const struct language *language,
                         struct template_input *in, char **ret_owned, sbr_error *err)
{
    in->name = name;
    in->text =
        strchr(name, '/') || access(name, F_OK) == 0 ? NULL : template_find(language->name, name);
    if (in->text) {
        in->len = strlen(in->text);
        return 0;
    }
    if (read_text(name, ret_owned, &in->len, err) < 0)
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

static int expand(sbr_request *req, const struct language *language, struct template_input *in,
                  sbr_error *err)
{
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

int request_template_put(sbr_request *req, const char *name, const char *const *sets, size_t n,
                         sbr_error *err)
{
    const struct language *language = req->language ? language_find(req->language) : NULL;
    struct template_value values[TEMPLATE_MAX_VALUES];
    char *names[TEMPLATE_MAX_VALUES] = { NULL };
    struct template_input in = { .values = values, .n_values = n };
    scoped_free char *text = NULL;
    int r;

    if (!name && n)
        return err_set(err, SBR_E_INVALID, "template", "--set needs a --template to set it in");
    if (!name)
        return 0;
    if (!language || (!req->code && !req->n_files))
        return err_set(err, SBR_E_INVALID, "template",
                       "a template needs a program in a language that is known");
    r = read_values(sets, n, values, names, err);
    if (r == 0)
        r = find_template(name, language, &in, &text, err);
    if (r == 0)
        r = expand(req, language, &in, err);
    for (size_t i = 0; i < n && i < TEMPLATE_MAX_VALUES; i++)
        free(names[i]);
    return r;
}
