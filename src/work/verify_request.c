/* The requests of a verification's checks. */
#include <string.h>

#include "base/scope.h"
#include "plan/language.h"
#include "work/verify_parts.h"

int verify_load(struct verification *v, struct verify_file *file, sbr_error *err)
{
    struct project_text text = { 0 };
    int r = file->data ? 1 : project_file_read_named(&v->tree, file->path, &text, err);

    if (r > 0 && !file->data) {
        file->data = text.data;
        file->len = text.len;
    }
    return r < 0    ? r
           : r == 0 ? err_set(err, SBR_E_NOT_FOUND, "verify", "there is no '%.200s' in the project",
                              file->path)
                    : 0;
}

static int put_file(sbr_request *req, const struct verify_file *file, sbr_error *err)
{
    if (request_add_file(req, file->path, file->data, file->len, err) < 0)
        return err->code;
    req->files[req->n_files - 1].executable = file->executable;
    return 0;
}

/* What holds for the base holds for its checks, to the letter: its limits, whose run it is, what is
 * recorded of it.  Nothing that a check leaves is kept, because the verdict is all that counts. */
static int copy_base(const struct verification *v, bool alone, sbr_request *req, sbr_error *err)
{
    const sbr_request *base = v->base;

    if (request_override(req, base, err) < 0 ||
        (alone && request_set_text(&req->project, NULL, err) < 0))
        return err->code;
    if (alone) {
        string_list_done(&req->excludes);
        string_list_done(&req->includes);
        req->excludes = req->includes = (struct string_list){ 0 };
    }
    req->limits = base->limits;
    req->compile_limits = base->compile_limits;
    req->network.mode = base->network.mode;
    req->network_given = base->network_given;
    req->network_asked = base->network_asked;
    req->keep = req->diff = req->keep_output = req->check = req->command = false;
    req->tty = (struct request_tty){ 0 };
    output_rules_done(&req->outputs);
    req->outputs = (struct output_rules){ 0 };
    return 0;
}

/* The base may name a version as well. */
static const char *language_of(const struct verification *v, const struct verify_file *file)
{
    const struct language *named = NULL;
    sbr_error none;

    return v->base->language && language_resolve(v->base->language, &named, &none) == 0 &&
                   named == file->language
               ? v->base->language
               : file->language->name;
}

static int fill(struct verification *v, struct verify_file *first, bool alone, sbr_request *req,
                sbr_error *err)
{
    if (copy_base(v, alone, req, err) < 0 ||
        (first && (verify_load(v, first, err) < 0 || put_file(req, first, err) < 0)))
        return err->code;
    for (size_t i = 0; !alone && i < v->n_files; i++)
        if (&v->files[i] != first && v->files[i].is_brought && put_file(req, &v->files[i], err) < 0)
            return err->code;
    if (first && request_set_text(&req->language, language_of(v, first), err) < 0)
        return err->code;
    return v->hooks && v->hooks->complete ? v->hooks->complete(v->hooks->context, req, err) : 0;
}

static int make_request(struct verification *v, struct verify_file *first, bool alone,
                        sbr_request **ret, sbr_error *err)
{
    if (request_new(NULL, NULL, ret, err) < 0)
        return err->code;
    if (fill(v, first, alone, *ret, err) == 0)
        return 0;
    request_free(take_ptr(*ret));
    return err->code;
}

int verify_request(struct verification *v, struct verify_file *first, sbr_request **ret,
                   sbr_error *err)
{
    return make_request(v, first, false, ret, err);
}

int verify_request_alone(struct verification *v, struct verify_file *file, sbr_request **ret,
                         sbr_error *err)
{
    return make_request(v, file, true, ret, err);
}
