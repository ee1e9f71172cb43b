/* The list of steps: sorted, searched, looked at. */
#include "changes/apply_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "changes/beneath.h"

int apply_plan_init(struct apply_plan *e, const char *id, size_t n_roots, sbr_error *err)
{
    *e = (struct apply_plan){ .id = id };
    e->roots = calloc(n_roots + 1, sizeof(*e->roots));
    if (!e->roots)
        return err_set_oom(err, "apply");
    e->n_roots = n_roots;
    for (size_t i = 0; i < n_roots; i++)
        e->roots[i] = (struct apply_root){ .fd = -1, .content_fd = -1 };
    return 0;
}

void apply_plan_done(struct apply_plan *e)
{
    for (size_t i = 0; i < e->n_roots; i++) {
        scope_close_fd(&e->roots[i].fd);
        scope_close_fd(&e->roots[i].content_fd);
    }
    for (size_t i = 0; i < e->n_opened; i++)
        free(e->opened[i].path);
    free(e->roots);
    free(e->opened);
    free(e->steps);
    *e = (struct apply_plan){ 0 };
}

int apply_plan_add(struct apply_plan *e, const struct step *step, sbr_error *err)
{
    if ((e->n & (e->n - 1)) == 0) { /* full at each power of two */
        struct step *grown = realloc(e->steps, (e->n ? 2 * e->n : 1) * sizeof(*grown));

        if (!grown)
            return err_set_oom(err, "apply");
        e->steps = grown;
    }
    e->steps[e->n++] = *step;
    return 0;
}

static int compare_steps(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Something new may stand where a renamed file was: of two steps for one path, the new one stays.
 */
void apply_plan_sort(struct apply_plan *e)
{
    size_t n = 0;

    if (e->n)
        qsort(e->steps, e->n, sizeof(*e->steps), compare_steps);
    for (size_t i = 0; i < e->n; i++) {
        if (n > 0 && compare_steps(&e->steps[n - 1], &e->steps[i]) == 0) {
            if (e->steps[i].want.kind != NODE_NONE)
                e->steps[n - 1] = e->steps[i];
        } else {
            e->steps[n++] = e->steps[i];
        }
    }
    e->n = n;
}

int apply_plan_add_change(struct apply_plan *e, const struct change *change, size_t number,
                          sbr_error *err)
{
    struct step step = { .root = change->root,
                         .path = change->path,
                         .change = change,
                         .want = change->now,
                         .mode_only = change->op == CHANGE_MODE,
                         .content = change->path,
                         .number = 2 * number };
    struct step gone = {
        .root = change->root, .path = change->from, .change = change, .number = 2 * number + 1
    };

    if (change->now.kind == NODE_OTHER)
        return 0;
    if (change->op == CHANGE_DELETED)
        step.want = (struct node){ 0 };
    if (apply_plan_add(e, &step, err) < 0)
        return err->code;
    return change->op == CHANGE_RENAMED && change->from ? apply_plan_add(e, &gone, err) : 0;
}

struct step *apply_plan_find(const struct apply_plan *e, unsigned int root, const char *path,
                             size_t len)
{
    size_t low = 0, high = e->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct step *s = &e->steps[middle];
        int order = s->root == root ? strncmp(s->path, path, len) : s->root < root ? -1 : 1;

        if (order == 0 && !s->path[len])
            return s;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

enum way apply_plan_way(const struct apply_plan *e, const struct step *step)
{
    enum way way = WAY_OTHER;

    for (const char *p = strchr(step->path, '/'); p; p = strchr(p + 1, '/')) {
        const struct step *above =
            apply_plan_find(e, step->root, step->path, (size_t)(p - step->path));

        if (above && !above->mode_only)
            way = above->want.kind == NODE_DIR ? WAY_MADE : WAY_GOES;
    }
    return way;
}

int apply_plan_fail(const struct step *step, const char *what, sbr_error *err)
{
    int saved = errno;
    char name[160];

    text_copy_visibly(name, sizeof(name), step->path, strlen(step->path));
    errno = saved;
    return err_set_errno(err, "apply", "cannot %s '%s'", what, name);
}

int apply_plan_look(struct apply_plan *e, struct step *step, int *ret_errno, sbr_error *err)
{
    const char *name;
    scoped_fd int parent = beneath_parent(e->roots[step->root].fd, step->path, &name);

    step->there = (struct stat){ 0 };
    *ret_errno = errno;
    if (parent < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV))
        return 0;
    if (parent >= 0 && fstatat(parent, name, &step->there, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    if (parent >= 0 && errno == ENOENT) {
        step->there = (struct stat){ 0 };
        return 1;
    }
    return apply_plan_fail(step, "look at", err);
}

int apply_plan_add_opened(struct apply_plan *e, unsigned int root, const char *path, mode_t mode,
                          sbr_error *err)
{
    struct opened_dir *grown = realloc(e->opened, (e->n_opened + 1) * sizeof(*grown));

    for (size_t i = 0; grown && i < e->n_opened; i++)
        if (grown[i].root == root && !strcmp(grown[i].path, path)) {
            e->opened = grown;
            return 0;
        }
    if (!grown)
        return err_set_oom(err, "apply");
    e->opened = grown;
    grown[e->n_opened] =
        (struct opened_dir){ .root = root, .path = strdup(path), .mode = mode & 07777 };
    return grown[e->n_opened++].path ? 0 : err_set_oom(err, "apply");
}

static int find_locked(struct apply_plan *e, const struct step *step, sbr_error *err)
{
    const char *name;
    scoped_fd int parent = beneath_parent(e->roots[step->root].fd, step->path, &name);
    scoped_free char *path = NULL;
    struct stat st;

    if (parent < 0 || fstat(parent, &st) < 0 || st.st_uid != geteuid() || st.st_mode & S_IWUSR)
        return 0; /* missing ones are made writable; what is not ours fails when it is used */
    path = strndup(step->path, name > step->path ? (size_t)(name - step->path) - 1 : 0);
    return path ? apply_plan_add_opened(e, step->root, path, st.st_mode, err)
                : err_set_oom(err, "apply");
}

int apply_plan_find_locked(struct apply_plan *e, sbr_error *err)
{
    if (geteuid() == 0)
        return 0;
    for (size_t i = 0; i < e->n; i++)
        if (e->steps[i].state == STEP_TODO && !e->steps[i].mode_only &&
            find_locked(e, &e->steps[i], err) < 0)
            return err->code;
    return 0;
}
