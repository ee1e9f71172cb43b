/* The requests of a verification's checks. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/scope.h"
#include "plan/language.h"
#include "work/verify_parts.h"

/* A link in the project leads to a file of the project, or to none.  Old kernels cannot tell where
 * a link leads: there a file is none. */
static int open_file(const struct verification *v, const char *path)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = inode_resolve(v->dir_fd, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

    return fd < 0 && errno == ENOSYS ? openat(v->dir_fd, path, flags | O_NOFOLLOW) : fd;
}

int verify_load(const struct verification *v, struct verify_file *file, sbr_error *err)
{
    scoped_fd int fd = -1;
    struct stat st;

    if (file->data)
        return 0;
    fd = open_file(v, file->path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "verify", "cannot read '%.200s' of the project", file->path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "verify", "'%.200s' is no regular file", file->path);
    return fd_read_text(fd, REQUEST_MAX_BYTES, &file->data, &file->len, err);
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
    memcpy(req->caller, base->caller, sizeof(req->caller));
    req->audit = base->audit;
    req->audit_code = base->audit_code;
    req->audit_bytes = base->audit_bytes;
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

static int fill(const struct verification *v, struct verify_file *first, bool alone,
                sbr_request *req, sbr_error *err)
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

static int make_request(const struct verification *v, struct verify_file *first, bool alone,
                        sbr_request **ret, sbr_error *err)
{
    if (request_new(NULL, NULL, ret, err) < 0)
        return err->code;
    if (fill(v, first, alone, *ret, err) == 0)
        return 0;
    request_free(take_ptr(*ret));
    return err->code;
}

int verify_request(const struct verification *v, struct verify_file *first, sbr_request **ret,
                   sbr_error *err)
{
    return make_request(v, first, false, ret, err);
}

int verify_request_alone(const struct verification *v, struct verify_file *file, sbr_request **ret,
                         sbr_error *err)
{
    return make_request(v, file, true, ret, err);
}
