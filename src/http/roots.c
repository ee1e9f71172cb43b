#include "http/roots.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "changes/state_dir.h"

#define PATH_MAX_SHOWN 4096
#define HOME "(home)"

static bool is_within(const char *path, const char *top)
{
    size_t len = strlen(top);

    return !strncmp(path, top, len) && (path[len] == '\0' || path[len] == '/');
}

/* Two roots of which one is written to and the other is not the very same. */
static bool collide(const struct root *a, const struct root *b)
{
    if (!is_within(a->path, b->path) && !is_within(b->path, a->path))
        return false;
    return a->writable != b->writable || (a->writable && strcmp(a->path, b->path) != 0);
}

static int check_root(const struct roots *roots, const struct root *root, sbr_error *err)
{
    for (size_t i = 0; i < roots->n; i++) {
        const struct root *other = &roots->at[i];

        if (!strcmp(other->tenant, root->tenant) && !strcmp(other->name, root->name))
            return err_set(err, SBR_E_INVALID, "config",
                           "http.roots: tenant '%s' has two roots '%s'; rename one", root->tenant,
                           root->name);
        if (collide(root, other))
            return err_set(err, SBR_E_INVALID, "config",
                           "http.roots: '%s' and '%s' lie in each other, and one is rw; choose "
                           "directories that do not",
                           root->name, other->name);
    }
    return 0;
}

static int take_root(const struct config *config, const struct config_root *from,
                     struct roots *roots, sbr_error *err)
{
    struct root *root = &roots->at[roots->n];
    scoped_free char *path = from->path ? config_value_path(config, from->path) : NULL;

    if (!from->tenant ||
        (!grant_is_tenant(from->tenant) && strcmp(from->tenant, GRANT_LOCAL) != 0) || !from->name ||
        !grant_is_tenant(from->name) || !path ||
        (from->mode && strcmp(from->mode, "ro") != 0 && strcmp(from->mode, "rw") != 0))
        return err_set(err, SBR_E_INVALID, "config",
                       "http.roots: an entry has `tenant`, `name`, `path` and, if it should be "
                       "written to, `mode: rw`; names have letters, digits, '_' and '-'");
    *root = (struct root){ .path = realpath(path, NULL),
                           .writable = from->mode && !strcmp(from->mode, "rw") };
    snprintf(root->tenant, sizeof(root->tenant), "%s", from->tenant);
    snprintf(root->name, sizeof(root->name), "%s", from->name);
    if (!root->path || !strcmp(root->path, "/") || strpbrk(root->path, ":\"\\") ||
        access(root->path, R_OK | X_OK) < 0) {
        free(root->path);
        return err_set(err, SBR_E_INVALID, "config",
                       "http.roots: '%.200s' is no directory that this user can read; make it, or "
                       "correct the path",
                       path);
    }
    if (check_root(roots, root, err) < 0) {
        free(root->path);
        return err->code;
    }
    roots->n++;
    return 0;
}

static void hide_place(struct roots *roots, const char *path, const char *name)
{
    scoped_free char *real = path && path[0] == '/' && path[1] ? realpath(path, NULL) : NULL;

    for (int i = 0; i < 2; i++) {
        const char *text = i ? real : path;

        if (text && text[0] == '/' && text[1] && (!i || strcmp(real, path) != 0) &&
            roots->n_hidden < ROOTS_HIDDEN_MAX)
            roots->hidden[roots->n_hidden++] =
                (struct hidden_place){ strdup(text), name, !strcmp(name, HOME) };
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct hidden_place *p = a, *q = b;
    size_t m = p->path ? strlen(p->path) : 0, n = q->path ? strlen(q->path) : 0;

    return m < n ? 1 : m > n ? -1 : 0;
}

/* One that lies in another comes before it. */
static void hide_places(struct roots *roots)
{
    char path[PATH_MAX] = "", *slash;
    sbr_error ignored;

    if (state_path(path, sizeof(path), &ignored) == 0)
        hide_place(roots, path, "(state)");
    hide_place(roots, getenv("SANDBOX_RUN_CACHE"), "(cache)");
    hide_place(roots, getenv("HOME"), HOME);
    if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 && (slash = strrchr(path, '/'))) {
        *slash = '\0';
        if (strcmp(path, "/usr/bin") != 0) /* names are the same inside */
            hide_place(roots, path, "(programs)");
    }
    qsort(roots->hidden, roots->n_hidden, sizeof(roots->hidden[0]), compare_places);
}

int roots_open(const struct config *config, struct roots *ret, sbr_error *err)
{
    const struct config_http *http = config->user ? &config->user->http : NULL;

    ret->n = 0;
    hide_places(ret);
    for (unsigned int i = 0; http && i < http->n_roots; i++)
        if (take_root(config, &http->roots[i], ret, err) < 0)
            return err->code;
    return 0;
}

void roots_done(struct roots *roots)
{
    for (size_t i = 0; i < roots->n; i++)
        free(roots->at[i].path);
    for (size_t i = 0; i < roots->n_hidden; i++)
        free(roots->hidden[i].path);
    roots->n = roots->n_hidden = 0;
}

/* What one field is resolved with. */
struct resolution {
    const struct roots *roots;
    const struct grant *tenant;
    const char *field;
    struct refusal *fault;
};

static char *refuse(const struct resolution *r, unsigned int status, const char *why)
{
    refusal_set(r->fault, status == HTTP_FORBIDDEN ? REFUSED_FORBIDDEN : REFUSED_WRONG, BOUND_ROOTS,
                r->field, "`%s` %s", r->field, why);
    return NULL;
}

static const struct root *find(const struct resolution *r, const char *word, size_t len)
{
    for (size_t i = 0; i < r->roots->n; i++) {
        const struct root *root = &r->roots->at[i];

        if (!strcmp(root->tenant, r->tenant->name) && strlen(root->name) == len &&
            !strncmp(root->name, word, len))
            return root;
    }
    return NULL;
}

/* True when the path can be reached from the root without a link.  `kind`: O_DIRECTORY or 0. */
static bool is_there(const struct root *root, const char *path, unsigned int kind)
{
    const struct open_how how = { .flags = O_PATH | O_CLOEXEC | kind,
                                  .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
    scoped_fd int top = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    scoped_fd int fd = top < 0 ? -1 : (int)syscall(SYS_openat2, top, path, &how, sizeof(how));

    return fd >= 0;
}

/* NAME or NAME/PATH to a path of the host, which the caller frees; NULL: refused. */
static char *path_of(const struct resolution *r, const char *word, size_t len, bool writes)
{
    size_t name = strcspn(word, "/");
    scoped_free char *below = NULL;
    const struct root *root;

    name = name < len ? name : len;
    root = find(r, word, name);
    if (!root)
        return refuse(r, HTTP_UNPROCESSABLE_CONTENT,
                      "names a path of the host, and such paths do not cross HTTP; send `files`, "
                      "use a `workspace`, or a root that the operator has named for this tenant");
    if (writes && !root->writable)
        return refuse(r, HTTP_FORBIDDEN,
                      "would write to a root that is only read; ask the operator for `mode: rw`");
    if (name == len)
        return strdup(root->path);
    if (root->writable)
        return refuse(r, HTTP_UNPROCESSABLE_CONTENT,
                      "names a part of a root that is written to; name the whole root");
    below = strndup(word + name + 1, len - name - 1);
    if (!below || !text_is_safe_relative_path(below, PATH_MAX_SHOWN) || !is_there(root, below, 0))
        return refuse(r, HTTP_UNPROCESSABLE_CONTENT,
                      "names nothing in that root, or a link; correct the path");
    return text_format("%s/%s", root->path, below);
}

static int resolve_project(const struct resolution *r, json_t *body, const json_t *value)
{
    const char *text = json_string_value(value);
    scoped_free char *path = text ? path_of(r, text, strlen(text), false) : NULL;

    if (text && !path)
        return -1;
    return text ? json_object_set_new(body, r->field, json_string(path)) : 0;
}

static int resolve_program(const struct resolution *r, json_t *body, const json_t *value)
{
    const char *text = json_string_value(value);

    if (!text ||
        (json_object_get(body, "project") && text_is_safe_relative_path(text, PATH_MAX_SHOWN)))
        return 0;
    (void)refuse(r, HTTP_UNPROCESSABLE_CONTENT,
                 "names a path of the host, and such paths do not cross HTTP; it is a path in "
                 "`project`");
    return -1;
}

/* NAME[/PATH]:DST[:MODE]; without a mode it is only read. */
static char *volume_of(const struct resolution *r, const char *text)
{
    size_t len = strcspn(text, ":");
    const char *mode = text[len] ? strchr(text + len + 1, ':') : NULL;
    scoped_free char *path = NULL;

    if (mode && strstr(mode, "sockets"))
        return refuse(r, HTTP_FORBIDDEN, "would open sockets of the host; leave `sockets` out");
    path = path_of(r, text, len, mode && !strcmp(mode, ":rw"));
    return path ? text_format("%s%s", path, text + len) : NULL;
}

static char *output_of(const struct resolution *r, const char *text)
{
    const char *dir = strchr(text, ':');
    scoped_free char *path = NULL;

    if (!dir)
        return strdup(text);
    path = path_of(r, dir + 1, strlen(dir + 1), true);
    return path ? text_format("%.*s:%s", (int)(dir - text), text, path) : NULL;
}

static int resolve_list(const struct resolution *r, json_t *body,
                        char *(*one)(const struct resolution *r, const char *text))
{
    json_t *list = json_object_get(body, r->field), *item;
    size_t i;

    json_array_foreach(list, i, item) {
        const char *text = json_string_value(item);
        scoped_free char *made = text ? one(r, text) : NULL;

        if (text && (!made || json_array_set_new(list, i, json_string(made)) < 0))
            return -1;
    }
    return 0;
}

static int resolve_volumes(const struct resolution *r, json_t *body, const json_t *value)
{
    (void)value;
    return resolve_list(r, body, volume_of);
}

static int resolve_outputs(const struct resolution *r, json_t *body, const json_t *value)
{
    (void)value;
    return resolve_list(r, body, output_of);
}

static const struct {
    const char *name;
    int (*resolve)(const struct resolution *r, json_t *body, const json_t *value);
} fields[] = { { "program", resolve_program },
               { "project", resolve_project },
               { "volumes", resolve_volumes },
               { "outputs", resolve_outputs } };

json_t *roots_resolve(const struct roots *roots, const struct grant *tenant, const json_t *body,
                      struct refusal *fault)
{
    json_t *copy = NULL;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct resolution r = { roots, tenant, fields[i].name, fault };

        if (!json_object_get(body, fields[i].name))
            continue;
        copy = copy ? copy : json_deep_copy(body);
        if (fields[i].resolve(&r, copy, json_object_get(copy, fields[i].name)) == 0)
            continue;
        if (!fault->err.code)
            err_set_oom(&fault->err, "request");
        json_decref(copy);
        return NULL;
    }
    return copy ? copy : json_incref((json_t *)body);
}

char *roots_admit(const struct roots *roots, const char *tenant, const char *path)
{
    for (size_t i = 0; i < roots->n; i++) {
        const struct root *root = &roots->at[i];
        const char *below = path + strlen(root->path);

        if (strcmp(root->tenant, tenant) != 0 || !is_within(path, root->path))
            continue;
        if (!*below)
            return strdup(root->path);
        below++;
        if (!root->writable && text_is_safe_relative_path(below, PATH_MAX_SHOWN) &&
            is_there(root, below, O_DIRECTORY))
            return text_format("%s/%s", root->path, below);
    }
    return NULL;
}

bool roots_has(const struct roots *roots, const char *tenant, bool writable)
{
    for (size_t i = 0; i < roots->n; i++)
        if (!strcmp(roots->at[i].tenant, tenant) && (roots->at[i].writable || !writable))
            return true;
    return false;
}

bool roots_are_writable(const struct roots *roots, const char *tenant, const char *path)
{
    for (size_t i = 0; i < roots->n; i++)
        if (!strcmp(roots->at[i].tenant, tenant) && roots->at[i].writable &&
            is_within(path, roots->at[i].path))
            return true;
    return false;
}
