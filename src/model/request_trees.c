/* Volumes (SRC:DST[:MODE]) and /work, checked as text; the job checks that SRC exists. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/request.h"

/* Directories that the sandbox provides: a volume may not hide any of them. */
static const char *const own_trees[] = { "/.cow",     "/.view",        "/build",    "/deps",
                                         "/dev",      "/driver",       "/proc",     "/sys",
                                         "/tmp",      "/node_modules", "/prepared", "/work",
                                         "/toolchain" };
/* The host's, in a sandbox without an image. */
static const char *const system_trees[] = { "/bin",   "/etc",    "/lib",  "/lib32",
                                            "/lib64", "/libx32", "/sbin", "/usr" };

static const struct {
    const char *name;
    enum volume_mode mode;
    bool sockets;
} modes[] = {
    { "ro", VOLUME_RO, false },        { "rw", VOLUME_RW, false },
    { "cow", VOLUME_COW, false },      { "ro+sockets", VOLUME_RO, true },
    { "rw+sockets", VOLUME_RW, true },
};

const char *request_volume_mode_name(const struct request_volume *volume)
{
    size_t i = 0;

    while (modes[i].mode != volume->mode || modes[i].sockets != volume->sockets)
        i++;
    return modes[i].name;
}

/* True when the paths are equal or one is below the other. */
static bool trees_overlap(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b), shorter = len_a < len_b ? len_a : len_b;
    const char *longer = len_a < len_b ? b : a;

    return !strncmp(a, b, shorter) && (longer[shorter] == '\0' || longer[shorter] == '/');
}

/* Removes empty and "." parts and trailing slashes.  Keeps "..": its meaning is on the disk. */
static void tidy_path(char *path)
{
    char *to = path;

    for (const char *part = path; *part;) {
        size_t len = strcspn(part, "/");

        if (len && (len != 1 || *part != '.')) {
            *to++ = '/';
            memmove(to, part, len);
            to += len;
        }
        part += len + (part[len] == '/');
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

static int volume_error(const sbr_request *req, const char *spec, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request",
                   "%s '%.100s' %s; give SRC:DST or SRC:DST:MODE, as in /srv/data:/data:cow",
                   request_word(req, CALLED_VOLUME), spec, what);
}

/* Which of the directories a volume would hide, or NULL. */
static const char *find_hidden(const char *const *trees, size_t n, const char *target)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(trees[i]);

        if (!strncmp(target, trees[i], len) && (target[len] == '\0' || target[len] == '/'))
            return trees[i];
    }
    return NULL;
}

static int check_own(const sbr_request *req, const char *spec, const char *target, sbr_error *err)
{
    const char *word = request_word(req, CALLED_VOLUME);
    const char *tree = find_hidden(own_trees, ARRAY_LEN(own_trees), target);

    if (tree && !strcmp(tree, "/work"))
        return err_set(err, SBR_E_INVALID, "request",
                       "%s '%.100s' would cover the sandbox's own /work; %s puts a directory "
                       "there, other volumes go elsewhere, as to /data",
                       word, spec, request_word(req, CALLED_A_PROJECT));
    if (!tree || (!strcmp(tree, "/tmp") && strcmp(target, tree) != 0)) /* below it is room */
        return 0;
    return err_set(err, SBR_E_INVALID, "request",
                   "%s '%.100s' would cover the sandbox's own %s; choose another target, for "
                   "example /data",
                   word, spec, tree);
}

/* An image may be named before its volumes or behind them. */
static int check_system(const sbr_request *req, sbr_error *err)
{
    for (size_t i = 0; !req->image && i < req->n_volumes; i++) {
        const struct request_volume *volume = &req->volumes[i];
        const char *tree = find_hidden(system_trees, ARRAY_LEN(system_trees), volume->target);

        if (tree)
            return err_set(err, SBR_E_INVALID, "request",
                           "%s '%.100s:%.100s' would cover the sandbox's own %s; choose another "
                           "target, for example /data",
                           request_word(req, CALLED_VOLUME), volume->source, volume->target, tree);
    }
    return 0;
}

static int check_volume(const sbr_request *req, const char *spec,
                        const struct request_volume *volume, sbr_error *err)
{
    if (!text_is_safe_relative_path(volume->target + 1, REQUEST_MAX_PATH))
        return volume_error(req, spec,
                            "has a target that is not an absolute path without '..' below /", err);
    if (strlen(volume->source) > REQUEST_MAX_PATH)
        return volume_error(req, spec, "has a source that is too long", err);
    if (check_own(req, spec, volume->target, err) < 0)
        return err->code;
    for (size_t i = 0; i < req->n_volumes; i++)
        if (trees_overlap(req->volumes[i].target, volume->target))
            return err_set(err, SBR_E_INVALID, "request",
                           "%s '%.100s' overlaps the target %.100s of another volume; give each "
                           "volume a place of its own",
                           request_word(req, CALLED_VOLUME), spec, req->volumes[i].target);
    if (req->n_volumes >= REQUEST_MAX_VOLUMES)
        return err_set(err, SBR_E_INVALID, "request",
                       "%s '%.100s' is one too many; a request has at most %d volumes",
                       request_word(req, CALLED_VOLUME), spec, REQUEST_MAX_VOLUMES);
    return 0;
}

static int parse_mode(const sbr_request *req, const char *spec, const char *name,
                      struct request_volume *ret, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (!strcmp(name, modes[i].name)) {
            ret->mode = modes[i].mode;
            ret->sockets = modes[i].sockets;
            return 0;
        }
    }
    return err_set(err, SBR_E_INVALID, "request",
                   "%s '%.100s' has no mode '%.40s'; choose ro (only read), rw (writes reach the "
                   "host) or cow (changes stay in the sandbox); ro+sockets and rw+sockets let "
                   "the program connect to sockets of the host's that are in it",
                   request_word(req, CALLED_VOLUME), spec, name);
}

/* Splits the copy of a spec into its parts; the mode is optional. */
static int split_volume(const sbr_request *req, char *copy, const char *spec,
                        struct request_volume *ret, sbr_error *err)
{
    char *target = strchr(copy, ':'), *mode = NULL;
    int r = 0;

    if (target) {
        *target++ = '\0';
        mode = strchr(target, ':');
    }
    if (mode)
        *mode++ = '\0';
    if (!target || !*copy || !*target)
        return volume_error(req, spec, "has no source or no target", err);
    if (*copy != '/')
        return volume_error(req, spec, "has a source that is not an absolute path", err);
    if (*target != '/')
        return volume_error(req, spec,
                            "has a target that is not an absolute path without '..' below /", err);
    if (mode)
        r = parse_mode(req, spec, mode, ret, err);
    if (r < 0)
        return r;
    tidy_path(copy);
    tidy_path(target);
    ret->source = copy;
    ret->target = target;
    return 0;
}

int request_add_volume(sbr_request *req, const char *spec, sbr_error *err)
{
    struct request_volume *grown, volume = { .mode = VOLUME_RO };
    scoped_free char *copy = strdup(spec);
    int r;

    if (!copy)
        return err_set_oom(err, "request");
    r = split_volume(req, copy, spec, &volume, err);
    if (r == 0)
        r = check_volume(req, spec, &volume, err);
    if (r < 0)
        return r;
    grown = realloc(req->volumes, (req->n_volumes + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "request");
    req->volumes = grown;
    volume.target = strdup(volume.target);
    if (!volume.target)
        return err_set_oom(err, "request");
    volume.source = take_ptr(copy); /* ends where the first colon was */
    req->volumes[req->n_volumes++] = volume;
    return 0;
}

int request_set_project(sbr_request *req, const char *dir, sbr_error *err)
{
    if (dir[0] != '/' || strlen(dir) > REQUEST_MAX_PATH)
        return err_set(err, SBR_E_INVALID, "request",
                       "the project '%.100s' is not an absolute path of at most %d bytes", dir,
                       REQUEST_MAX_PATH);
    if (request_set_text(&req->project, dir, err) < 0)
        return err->code;
    tidy_path(req->project);
    return 0;
}

/* Names of backends; `detail`: whether a program or a path may follow, or must. */
static const struct {
    const char *name;
    enum { DETAIL_NONE, DETAIL_SOCKET, DETAIL_PROGRAM } detail;
} backends[] = {
    { "native", DETAIL_NONE },   { "auto", DETAIL_NONE },     { "oci", DETAIL_PROGRAM },
    { "docker", DETAIL_SOCKET }, { "podman", DETAIL_SOCKET },
};

static bool is_backend(const char *name, size_t i)
{
    size_t len = strlen(backends[i].name);
    const char *detail = name[len] == ':' ? name + len + 1 : "";
    bool is_path = detail[0] == '/';

    if (strncmp(name, backends[i].name, len) != 0)
        return false;
    if (!name[len])
        return backends[i].detail != DETAIL_PROGRAM;
    if (name[len] != ':' || !*detail || strlen(detail) > REQUEST_MAX_PATH)
        return false;
    for (const char *c = detail; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 127)
            return false;
    if (backends[i].detail == DETAIL_SOCKET)
        return is_path;
    return backends[i].detail == DETAIL_PROGRAM && (is_path || !strchr(detail, '/'));
}

int request_check_backend(const char *name, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        if (is_backend(name, i))
            return 0;
    return err_set(err, SBR_E_INVALID, "request",
                   "there is no backend '%.100s'; take native, auto, oci:crun, oci:runc, "
                   "oci:/PATH/OF/A/RUNTIME, docker[:/SOCKET] or podman[:/SOCKET]",
                   name);
}

int request_set_backend(sbr_request *req, const char *name, sbr_error *err)
{
    return request_check_backend(name, err) < 0 ? err->code
                                                : request_set_text(&req->backend, name, err);
}

bool request_backend_is_native(const sbr_request *req)
{
    return !req->backend || !strcmp(req->backend, "native");
}

bool request_image_is_name(const char *ref)
{
    static const char *const others[] = {
        "/", ".", "oci:", "oci-archive:", "docker-archive:", "docker-daemon:"
    };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (!strncmp(ref, others[i], strlen(others[i])))
            return false;
    return true;
}

int request_set_image(sbr_request *req, const char *ref, sbr_error *err)
{
    size_t len = strlen(ref);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)ref[i] <= ' ' || ref[i] == 127)
            len = 0;
    if (!len || len > REQUEST_MAX_PATH)
        return err_set(
            err, SBR_E_INVALID, "request",
            "the image '%.100s' has no usable name; as in debian:12, oci:DIR or ./rootfs", ref);
    return request_set_text(&req->image, ref, err);
}

int request_set_program(sbr_request *req, const char *path, sbr_error *err)
{
    if (!text_is_safe_relative_path(path, REQUEST_MAX_PATH))
        return err_set(
            err, SBR_E_INVALID, "request",
            "the program '%.100s' is not usable; give its path below the project, without "
            "'..', empty parts or control characters",
            path);
    return request_set_text(&req->program, path, err);
}

int request_set_workspace(sbr_request *req, const char *name, sbr_error *err)
{
    size_t len = strlen(name);
    bool good = len > 0 && len <= WORKSPACE_MAX_NAME && name[0] != '.' && name[0] != '-';

    for (size_t i = 0; good && i < len; i++)
        good = isalnum((unsigned char)name[i]) || strchr("._-", name[i]);
    if (!good)
        return err_set(err, SBR_E_INVALID, "request",
                       "the workspace '%.100s' has no usable name; take letters, digits, '.', '_' "
                       "and '-', not first a '.' or '-', at most %d of them",
                       name, WORKSPACE_MAX_NAME);
    return request_set_text(&req->workspace, name, err);
}

int request_add_output(sbr_request *req, const char *spec, sbr_error *err)
{
    return output_rules_add(&req->outputs, request_word(req, CALLED_OUTPUT), spec, err);
}

static bool has_cow_volume(const sbr_request *req)
{
    for (size_t i = 0; i < req->n_volumes; i++)
        if (req->volumes[i].mode == VOLUME_COW)
            return true;
    return false;
}

/* With a check nothing runs, so there are no changes and no outputs. */
static int check_nothing_runs(const sbr_request *req, sbr_error *err)
{
    enum request_word word = req->diff ? CALLED_DIFF : req->keep ? CALLED_KEEP : CALLED_OUTPUT;

    if (!req->check || (!req->diff && !req->keep && !req->outputs.n))
        return 0;
    return err_set(err, SBR_E_INVALID, "request",
                   "%s runs nothing, so there is nothing for %s; leave one of them out",
                   request_word(req, CALLED_CHECK), request_word(req, word));
}

static bool is_below(const char *path, size_t len, const char *top)
{
    size_t top_len = strlen(top);

    return len >= top_len && !strncmp(path, top, top_len) &&
           (len == top_len || path[top_len] == '/');
}

/* A program can write only to /work, /tmp and volumes, so only these have outputs. */
static int check_output(const sbr_request *req, const char *pattern, sbr_error *err)
{
    size_t fixed = output_fixed_len(pattern), whole = strlen(pattern);

    for (size_t i = 0; i < req->n_volumes + 2; i++) {
        const char *top = i >= 2 ? req->volumes[i - 2].target : i ? "/tmp" : "/work";

        if (is_below(pattern, fixed, top) || is_below(pattern, whole, top))
            return 0;
    }
    return err_set(
        err, SBR_E_INVALID, "request",
        "%s '%.150s' is outside of /work, /tmp and every volume; results come from there",
        request_word(req, CALLED_OUTPUT), pattern);
}

bool request_has_cow(const sbr_request *req)
{
    return req->project || has_cow_volume(req);
}

static int check_changes(const sbr_request *req, sbr_error *err)
{
    bool cow = request_has_cow(req);

    if (req->keep && req->workspace)
        return err_set(err, SBR_E_INVALID, "request",
                       "a workspace keeps what is changed in it by itself; leave %s out",
                       request_word(req, CALLED_KEEP));
    if (req->diff && !cow && !req->workspace)
        return err_set(err, SBR_E_INVALID, "request",
                       "%s has nothing to look at; bring a tree in with %s or %s",
                       request_word(req, CALLED_DIFF), request_word(req, CALLED_A_PROJECT),
                       request_word(req, CALLED_A_COW_VOLUME));
    if (req->keep && !cow && !req->outputs.n)
        return err_set(err, SBR_E_INVALID, "request",
                       "%s has nothing to store; bring a tree in with %s or %s, or name results "
                       "with %s",
                       request_word(req, CALLED_KEEP), request_word(req, CALLED_A_PROJECT),
                       request_word(req, CALLED_A_COW_VOLUME), request_word(req, CALLED_AN_OUTPUT));
    for (size_t i = 0; i < req->outputs.n; i++)
        if (check_output(req, req->outputs.items[i].pattern, err) < 0)
            return err->code;
    return check_nothing_runs(req, err);
}

int request_check_trees(const sbr_request *req, sbr_error *err)
{
    if (req->kernel && !request_backend_is_native(req))
        return err_set(err, SBR_E_UNSUPPORTED, "request",
                       "a session has the native backend; leave out --backend %.100s",
                       req->backend);
    if (req->project && req->workspace)
        return err_set(err, SBR_E_INVALID, "request",
                       "%s and %s both stand at /work; give one of them",
                       request_word(req, CALLED_PROJECT), request_word(req, CALLED_WORKSPACE));
    if (req->program && !req->project)
        return err_set(err, SBR_E_INVALID, "request",
                       "the program '%.100s' is one of a project, but there is no project; name it "
                       "with %s",
                       req->program, request_word(req, CALLED_A_PROJECT));
    if (req->program && req->code)
        return err_set(err, SBR_E_INVALID, "request",
                       "the project's program '%.100s' and code were given; give the program once",
                       req->program);
    if (req->program && !req->language)
        return err_set(err, SBR_E_INVALID, "request",
                       "the project's program '%.100s' has no language; name one%s", req->program,
                       request_word(req, CALLED_LANGUAGE));
    return check_system(req, err) < 0 ? err->code : check_changes(req, err);
}
