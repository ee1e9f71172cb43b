/* SRC:DST[:MODE], checked as text; whether SRC exists is for the sandbox to say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "job/request.h"

/* What the sandbox builds itself: a volume may not hide any of it. */
static const char *const own_trees[] = { "/bin",  "/dev",  "/etc", "/lib", "/lib32", "/lib64",
                                         "/proc", "/sbin", "/sys", "/tmp", "/usr",   "/work" };

static const char *own_tree_of(const char *target)
{
    for (size_t i = 0; i < ARRAY_LEN(own_trees); i++) {
        size_t len = strlen(own_trees[i]);

        if (!strncmp(target, own_trees[i], len) && (target[len] == '\0' || target[len] == '/'))
            return own_trees[i];
    }
    return NULL;
}

static int volume_error(const char *spec, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request",
                   "--volume '%.100s' %s; give SRC:DST or SRC:DST:ro", spec, what);
}

static int check_volume(const sbr_request *req, const char *spec, const char *source,
                        const char *target, sbr_error *err)
{
    const char *own;

    if (source[0] != '/')
        return volume_error(spec, "has a source that is not an absolute path", err);
    if (target[0] != '/' || !text_is_safe_relative_path(target + 1, REQUEST_MAX_PATH))
        return volume_error(spec, "has a target that is not an absolute path without '..'", err);
    own = own_tree_of(target);
    if (own)
        return err_set(err, SBR_E_INVALID, "request",
                       "--volume '%.100s' would cover the sandbox's own %s; choose another target, "
                       "for example /data",
                       spec, own);
    for (size_t i = 0; i < req->n_volumes; i++) {
        size_t a = strlen(req->volumes[i].target), b = strlen(target);
        size_t shorter = a < b ? a : b;
        const char *longer = a < b ? target : req->volumes[i].target;

        if (!strncmp(req->volumes[i].target, target, shorter) &&
            (longer[shorter] == '\0' || longer[shorter] == '/'))
            return volume_error(spec, "overlaps the target of another volume", err);
    }
    return req->n_volumes < REQUEST_MAX_VOLUMES ? 0 : volume_error(spec, "is one too many", err);
}

/* Cuts the copy of a spec into its parts; the mode is optional. */
static int split_volume(char *copy, const char *spec, char **ret_target, sbr_error *err)
{
    char *target = strchr(copy, ':'), *mode = NULL;

    if (target) {
        *target++ = '\0';
        mode = strchr(target, ':');
    }
    if (!target || !*copy || !*target)
        return volume_error(spec, "has no source or no target", err);
    if (mode) {
        *mode++ = '\0';
        if (strcmp(mode, "ro") != 0)
            return volume_error(spec, "has a mode other than ro, the only one there is", err);
    }
    *ret_target = target;
    return 0;
}

int request_add_volume(sbr_request *req, const char *spec, sbr_error *err)
{
    struct request_volume *grown, volume = { 0 };
    char *target = NULL, *copy = strdup(spec);

    if (!copy)
        return err_set_oom(err, "request");
    if (split_volume(copy, spec, &target, err) < 0 ||
        check_volume(req, spec, copy, target, err) < 0) {
        free(copy);
        return err->code;
    }
    grown = realloc(req->volumes, (req->n_volumes + 1) * sizeof(*grown));
    volume.target = strdup(target);
    volume.source = copy; /* ends where the colon was */
    if (grown)
        req->volumes = grown;
    if (!grown || !volume.target) {
        free(volume.source);
        free(volume.target);
        return err_set_oom(err, "request");
    }
    req->volumes[req->n_volumes++] = volume;
    return 0;
}
