/* The files that a request brings along. */
#include "model/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A copy with a NUL after it; never NULL, so that "empty" and "not given" differ. */
char *request_files_copy(const void *data, size_t len)
{
    char *copy = malloc(len + 1);

    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

/* True when the paths are equal, or when one is a parent directory of the other. */
bool request_files_clash(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b), shorter = len_a < len_b ? len_a : len_b;

    if (strncmp(a, b, shorter) != 0)
        return false;
    return len_a == len_b || (len_a < len_b ? b[shorter] == '/' : a[shorter] == '/');
}

static int check_new_file(const sbr_request *req, const char *path, size_t len, sbr_error *err)
{
    if (!text_is_safe_relative_path(path + (*path == '/'), REQUEST_MAX_PATH))
        return err_set(err, SBR_E_INVALID, "request",
                       "the file name '%.100s' is not usable; give a relative path without '..', "
                       "empty parts or control characters, of at most %d bytes",
                       path, REQUEST_MAX_PATH);
    if (!strncmp(path, "/work/", 6))
        return err_set(err, SBR_E_INVALID, "request",
                       "the file name '%.100s' is not usable; files lie in /work: write it as "
                       "'%.100s'",
                       path, path + 6);
    if (req->n_files >= REQUEST_MAX_FILES)
        return err_set(err, SBR_E_INVALID, "request", "a request has at most %d files",
                       REQUEST_MAX_FILES);
    if (len > REQUEST_MAX_BYTES - req->file_bytes)
        return err_set(err, SBR_E_INVALID, "request",
                       "the files of a request are at most %llu bytes together",
                       (unsigned long long)REQUEST_MAX_BYTES);
    return 0;
}

int request_files_refuse(const char *path, const char *other, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request",
                   "the file '%.100s' clashes with '%.100s'; give each path once", path, other);
}

/* What is below a directory follows it at once: its slash comes before all other characters. */
static int compare_paths(const void *a, const void *b)
{
    const unsigned char *p = *(const unsigned char *const *)a,
                        *q = *(const unsigned char *const *)b;

    for (; *p && *p == *q; p++)
        q++;
    return (*p == '/' ? 1 : *p ? *p + 1 : 0) - (*q == '/' ? 1 : *q ? *q + 1 : 0);
}

int request_files_check(const sbr_request *req, sbr_error *err)
{
    scoped_free const char **paths = calloc(req->n_files + 1, sizeof(*paths));

    if (!paths)
        return err_set_oom(err, "request");
    for (size_t i = 0; i < req->n_files; i++)
        paths[i] = req->files[i].path;
    qsort(paths, req->n_files, sizeof(*paths), compare_paths);
    for (size_t i = 1; i < req->n_files; i++)
        if (request_files_clash(paths[i - 1], paths[i]))
            return request_files_refuse(paths[i], paths[i - 1], err);
    return 0;
}

int request_files_add(sbr_request *req, const char *path, const void *data, size_t len,
                      sbr_error *err)
{
    struct request_file *grown, file = { .len = len };

    if (check_new_file(req, path, len, err) < 0)
        return err->code;
    grown = realloc(req->files, (req->n_files + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "request");
    req->files = grown;
    file.path = strdup(path);
    file.data = request_files_copy(data, len);
    if (!file.path || !file.data) {
        free(file.path);
        free(file.data);
        return err_set_oom(err, "request");
    }
    req->files[req->n_files++] = file;
    req->file_bytes += len;
    return 0;
}
