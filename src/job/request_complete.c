#include "job/job_steps.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "plan/language.h"
#include "plan/language_file.h"
#include "plan/policy.h"
#include "plan/template.h"

static int read_template(const char *path, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return err_set_errno(err, "template", "cannot open the template '%.200s'", path);
    return fd_read_text(fd, REQUEST_MAX_BYTES, ret, ret_len, err);
}

/* `sets` are NAME=VALUE.  A name with a slash is a file. */
int request_complete_template(sbr_request *req, const char *name, const char *const *sets, size_t n,
                              sbr_error *err)
{
    struct template_use use = { .name = name, .values = sets, .n_values = n };
    scoped_free char *text = NULL;

    if (strchr(name, '/') && read_template(name, &text, &use.len, err) < 0)
        return err->code;
    use.text = text;
    return template_program(req, &use, err);
}

/* What a request in JSON asks for besides: its own language, and a template for its program. */
static int complete(sbr_request *req, sbr_error *err)
{
    if (req->language_file && language_file_add(req->language_file, err) < 0)
        return err->code;
    if (req->sets.n && !req->template_name)
        return err_set(err, SBR_E_INVALID, "request", "`set` needs a `template` to set it in");
    return !req->template_name
               ? 0
               : request_complete_template(req, req->template_name,
                                           (const char *const *)req->sets.items, req->sets.n, err);
}

/* Languages of the user are known by now: sbr_language_add_file comes before requests. */
static int check_names(const sbr_request *req, sbr_error *err)
{
    const struct language *language;
    const struct policy *policy;

    if (req->language && language_resolve(req->language, &language, err) < 0)
        return err->code;
    return policy_resolve(req->policy, &policy, err);
}

int request_complete(sbr_request *req, sbr_error *err)
{
    return complete(req, err) < 0 || check_names(req, err) < 0 ? err->code : 0;
}
