#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inode.h"
#include "base/text.h"
#include "changes/apply_plan.h"
#include "changes/changeset_meta.h"
#include "model/executes.h"

static bool covers(const char *cover, const char *path)
{
    size_t len = strlen(cover);

    return strncmp(path, cover, len) == 0 && (!path[len] || path[len] == '/');
}

bool apply_path_is_covered(const char *path, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (covers(list[i], path))
            return true;
    return false;
}

/* Selects the directories that are made for a file. */
static void select_way(const struct changes *changes, const struct change *c, bool *mask)
{
    for (const char *p = strchr(c->path, '/'); p; p = strchr(p + 1, '/')) {
        size_t above = changes_find(changes, c->root, c->path, (size_t)(p - c->path));

        if (above < changes->n && changes->items[above].now.kind == NODE_DIR &&
            changes->items[above].base.kind != NODE_DIR)
            mask[above] = true;
    }
}

static int check_named(const struct changes *changes, const char *path, sbr_error *err)
{
    char name[160];

    for (size_t i = 0; i < changes->n; i++)
        if (covers(path, changes->items[i].path) ||
            (changes->items[i].from && covers(path, changes->items[i].from)))
            return 0;
    text_copy_visibly(name, sizeof(name), path, strlen(path));
    return err_set(err, SBR_E_NOT_FOUND, "apply",
                   "'%s' is not among the changes; `sandbox-run changes show ID` lists them", name);
}

/* A directory stays while something is left in it. */
static void keep_way(const struct changes *changes, const struct change *c, bool *mask)
{
    for (const char *p = strchr(c->path, '/'); p; p = strchr(p + 1, '/')) {
        size_t above = changes_find(changes, c->root, c->path, (size_t)(p - c->path));

        if (above < changes->n && changes->items[above].now.kind != NODE_DIR)
            mask[above] = false;
    }
}

/* Whether a change that others execute is asked for by its own name. */
static bool is_wanted(const struct change *c, const struct apply_options *options)
{
    return options->flags & APPLY_EXECUTED ||
           executes_is_named(c, options->paths, options->n_paths) ||
           executes_is_named(c, options->force, options->n_force) ||
           executes_is_named(c, options->also, options->n_also);
}

static void leave_out_executed(const struct changes *changes, const struct apply_options *options,
                               bool *mask)
{
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];

        if (is_wanted(c, options))
            continue;
        mask[i] = false;
        if (c->base.kind != NODE_NONE)
            keep_way(changes, c, mask);
    }
}

int apply_report_left(const struct changes *changes, const struct apply_options *options,
                      struct apply_report *report, sbr_error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];
        struct left_out *grown;

        if (is_wanted(c, options) ||
            (options->n_paths && !apply_path_is_covered(c->path, options->paths, options->n_paths)))
            continue;
        grown = reallocarray(report->left_out, report->n_left_out + 1, sizeof(*grown));
        if (!grown)
            return err_set_oom(err, "apply");
        report->left_out = grown;
        grown[report->n_left_out] = (struct left_out){ strdup(c->path), executes_change(c) };
        if (!grown[report->n_left_out++].path)
            return err_set_oom(err, "apply");
    }
    return 0;
}

int apply_select_changes(const struct changeset *changeset, const struct apply_options *options,
                         bool *mask, sbr_error *err)
{
    const struct changes *changes = &changeset->changes;

    for (size_t i = 0; i < options->n_paths; i++)
        if (check_named(changes, options->paths[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < options->n_also; i++)
        if (check_named(changes, options->also[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < options->n_force; i++)
        if (check_named(changes, options->force[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];

        mask[i] = !options->n_paths ||
                  apply_path_is_covered(c->path, options->paths, options->n_paths) ||
                  apply_path_is_covered(c->path, options->also, options->n_also) ||
                  (c->from && apply_path_is_covered(c->from, options->paths, options->n_paths));
    }
    leave_out_executed(changes, options, mask);
    for (size_t i = 0; (options->n_paths || options->n_also) && i < changes->n; i++)
        if (mask[i] && changes->items[i].now.kind != NODE_NONE)
            select_way(changes, &changes->items[i], mask);
    return 0;
}

int apply_select(const struct changeset *changeset, const struct apply_options *options,
                 struct changes *ret, sbr_error *err)
{
    struct changes selected = changeset->changes;
    bool *mask = calloc(changeset->changes.n + 1, sizeof(*mask));
    int r;

    selected.items = calloc(changeset->changes.n + 1, sizeof(*selected.items));
    selected.n = 0;
    r = mask && selected.items ? apply_select_changes(changeset, options, mask, err)
                               : err_set_oom(err, "apply");
    for (size_t i = 0; r == 0 && i < changeset->changes.n; i++)
        if (mask[i])
            selected.items[selected.n++] = changeset->changes.items[i];
    free(mask);
    if (r < 0)
        free(selected.items);
    else
        *ret = selected;
    return r;
}

/* The recorded path has no links: the owner of a directory on the way could lead us elsewhere by
 * one. */
static int open_source(const char *source)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = inode_resolve(AT_FDCWD, source, flags, RESOLVE_NO_SYMLINKS);

    return fd < 0 && errno == ENOSYS ? open(source, flags) : fd;
}

int apply_open_roots(const struct changeset *changeset, struct apply_plan *e, sbr_error *err)
{
    for (size_t i = 0; i < e->n_roots; i++) {
        const char *source = changeset->changes.roots[i].source;

        e->roots[i].source = source;
        e->roots[i].fd = open_source(source);
        if (e->roots[i].fd < 0 && errno == ELOOP)
            return err_set(
                err, SBR_E_DENIED, "apply",
                "'%.200s', which the changes are for, is behind a link now that was none "
                "before; put it back, or run it again",
                source);
        if (e->roots[i].fd < 0)
            return err_set_errno(err, "apply", "cannot open '%.200s', which the changes are for",
                                 source);
    }
    return 0;
}

int apply_remove_leftovers(const struct changeset *changeset, sbr_error *err)
{
    struct apply_plan e;
    int r = apply_plan_init(&e, changeset->id, changeset->changes.n_roots, err);

    for (size_t i = 0; r == 0 && i < changeset->changes.n; i++)
        r = apply_plan_add_change(&e, &changeset->changes.items[i], i, err);
    if (r == 0)
        r = apply_open_roots(changeset, &e, err);
    if (r == 0)
        apply_plan_remove_temps(&e);
    apply_plan_done(&e);
    return r;
}
