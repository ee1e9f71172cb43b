/* Undo is the same work in the other direction: the originals are the contents, and what apply made
 * goes.  It needs no journal of its own: the originals stay until all is done, and what is back is
 * recognised. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/apply_plan.h"
#include "changes/node.h"

struct undo {
    struct changeset *changeset;
    const struct apply_options *options;
    struct apply_report *report;
    struct journal journal;
    struct apply_plan plan;
    bool *keep; /* entries of the journal that stay */
    sbr_error *err;
};

static int add_entry(struct undo *u, size_t i)
{
    const struct journal_entry *entry = &u->journal.items[i];
    struct step step = { .root = entry->root,
                         .path = entry->path,
                         .want = entry->was,
                         .mode_only = entry->mode_only,
                         .content = entry->original,
                         .number = entry->number,
                         .exact = true,
                         .uid = entry->uid,
                         .gid = entry->gid,
                         .linkable = entry->linked };

    if (entry->opened)
        return apply_plan_add_opened(&u->plan, entry->root, entry->path, entry->was.mode, u->err);
    return apply_plan_add(&u->plan, &step, u->err);
}

/* A file that comes back needs the directory that was removed with it. */
static bool is_way_of_selected(const struct undo *u, const struct journal_entry *entry)
{
    size_t len = strlen(entry->path);

    if (entry->was.kind != NODE_DIR || entry->now.kind == NODE_DIR)
        return false;
    for (size_t i = 0; i < u->options->n_paths; i++)
        if (strncmp(u->options->paths[i], entry->path, len) == 0 &&
            u->options->paths[i][len] == '/')
            return true;
    return false;
}

static int plan(struct undo *u)
{
    const struct apply_options *o = u->options;

    if (apply_plan_init(&u->plan, u->changeset->id, u->changeset->changes.n_roots, u->err) < 0 ||
        apply_open_roots(u->changeset, &u->plan, u->err) < 0)
        return u->err->code;
    u->plan.flags = o->flags;
    u->keep = calloc(u->journal.n + 1, sizeof(*u->keep));
    if (!u->keep)
        return err_set_oom(u->err, "undo");
    for (size_t i = 0; i < u->journal.n; i++) {
        const struct journal_entry *entry = &u->journal.items[i];

        u->keep[i] = o->n_paths && !entry->opened &&
                     !apply_path_is_covered(entry->path, o->paths, o->n_paths) &&
                     !is_way_of_selected(u, entry);
        if (!u->keep[i] && add_entry(u, i) < 0)
            return u->err->code;
    }
    for (size_t i = 0; i < u->plan.n_roots; i++) {
        u->plan.roots[i].content_fd =
            openat(u->journal.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (u->plan.roots[i].content_fd < 0)
            return err_set_errno(u->err, "undo", "cannot read the originals");
    }
    apply_plan_sort(&u->plan);
    return 0;
}

/* As it was before apply. */
static bool is_original(const struct undo *u, const struct step *step)
{
    struct node_state there = node_state_of(&step->there);
    struct stat st;

    if (!step->there.st_mode || step->want.kind == NODE_NONE)
        return !step->there.st_mode && step->want.kind == NODE_NONE;
    if (there.node.kind != step->want.kind)
        return false;
    if (step->mode_only || step->want.kind == NODE_DIR)
        return there.node.mode == step->want.mode;
    if (fstatat(u->journal.fd, step->content, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino == step->there.st_ino && st.st_dev == step->there.st_dev)
        return true;
    return (there.node.kind == NODE_LINK || there.node.mode == step->want.mode) &&
           apply_has_content(&u->plan, step, u->journal.fd, step->content) == 1;
}

/* As apply left it. */
static bool is_applied(const struct undo *u, const struct step *step)
{
    const struct journal_entry *entry = journal_find(&u->journal, step->root, step->path);
    struct node_state there = node_state_of(&step->there);
    char content[40 + 4096];

    if (!entry || !step->there.st_mode || entry->now.kind == NODE_NONE)
        return entry && !step->there.st_mode && entry->now.kind == NODE_NONE;
    if (there.node.kind != entry->now.kind)
        return false;
    if (step->mode_only)
        return (there.node.mode & 0777) == (entry->now.mode & 0777);
    if (there.node.kind == NODE_DIR)
        return true;
    snprintf(content, sizeof(content), "%u/%s", step->root, step->path);
    return apply_has_content(&u->plan, step, u->changeset->tree_fd, content) == 1;
}

/* A kill came while a file and a directory changed places in two calls. */
static bool was_under_way(const struct undo *u, const struct step *step)
{
    const struct journal_entry *entry = journal_find(&u->journal, step->root, step->path);

    return entry && !step->there.st_mode && entry->was.kind != NODE_NONE &&
           entry->now.kind != NODE_NONE &&
           (entry->was.kind == NODE_DIR) != (entry->now.kind == NODE_DIR);
}

static int conflict(struct undo *u, struct step *step, const char *why, bool forcible)
{
    return apply_conflict_add(step, why, forcible ? u->options : NULL, u->report, u->err);
}

static int check_barred(struct undo *u, struct step *step, int why)
{
    enum way way = apply_plan_way(&u->plan, step);

    if (way == WAY_MADE)
        return 0;
    if (step->want.kind == NODE_NONE && (why == ENOENT || way == WAY_GOES)) {
        step->state = STEP_ALREADY;
        return 0;
    }
    return conflict(u, step,
                    why == ENOENT ? "is in a directory that is gone"
                                  : "is behind a link, or something that is no directory",
                    false);
}

static int check_step(struct undo *u, struct step *step)
{
    int barred, r = apply_plan_look(&u->plan, step, &barred, u->err);

    step->state = STEP_TODO;
    if (r < 0)
        return r;
    if (r == 0)
        return check_barred(u, step, barred);
    if (is_original(u, step)) {
        step->state = STEP_ALREADY;
        return 0;
    }
    if (S_ISDIR(step->there.st_mode) && step->want.kind == NODE_DIR && !step->mode_only)
        return 0; /* back, except its mode */
    if (S_ISDIR(step->there.st_mode) && step->want.kind != NODE_DIR) {
        r = apply_has_others(&u->plan, step, u->err);
        if (r > 0 && step->want.kind == NODE_NONE) {
            step->state = STEP_ALREADY; /* made by apply, in use now: it stays */
            return 0;
        }
        if (r != 0)
            return r < 0 ? r : conflict(u, step, "is a directory with other files in it", false);
    }
    if (is_applied(u, step))
        return 0;
    if (was_under_way(u, step))
        return 0;
    if (step->mode_only && !step->there.st_mode)
        return conflict(u, step, "is gone", false);
    return conflict(u, step, step->there.st_mode ? "was changed since it was applied" : "is gone",
                    true);
}

static int undo_all(struct undo *u)
{
    size_t todo = 0;

    for (size_t i = 0; i < u->plan.n; i++) {
        if (check_step(u, &u->plan.steps[i]) < 0)
            return u->err->code;
        todo += u->plan.steps[i].state == STEP_TODO;
        u->report->already += u->plan.steps[i].state == STEP_ALREADY;
    }
    if (u->report->conflicts.n)
        return err_set(u->err, SBR_E_DENIED, "undo",
                       "%zu files were changed since the changes were applied; nothing was undone",
                       u->report->conflicts.n);
    if (apply_plan_find_locked(&u->plan, u->err) < 0 || apply_plan_run(&u->plan, u->err) < 0)
        return u->err->code;
    u->report->applied = todo;
    return journal_reduce(u->changeset, &u->journal, u->keep, u->err);
}

static int check_paths(const struct undo *u)
{
    for (size_t i = 0; i < u->options->n_paths; i++) {
        bool found = false;

        for (size_t k = 0; k < u->journal.n && !found; k++)
            found = apply_path_is_covered(u->journal.items[k].path, &u->options->paths[i], 1);
        if (!found)
            return err_set(u->err, SBR_E_NOT_FOUND, "undo",
                           "'%.150s' is not among what was applied", u->options->paths[i]);
    }
    return 0;
}

int apply_undo(struct changeset *changeset, const struct apply_options *options,
               struct apply_report *report, sbr_error *err)
{
    struct undo u = { .changeset = changeset, .options = options, .report = report, .err = err };
    int r;

    *report = (struct apply_report){ 0 };
    u.journal.fd = -1;
    if (changeset_lock(changeset, err) < 0)
        return err->code;
    r = journal_open(changeset, false, &u.journal, err);
    if (r == 0) {
        journal_close(&u.journal);
        if (changeset->applied) /* the journal is worked off; only the mark was left */
            return changeset_mark(changeset, false, err);
        return err_set(err, SBR_E_NOT_FOUND, "undo",
                       "nothing of the changes %.8s is applied, so there is nothing to undo",
                       changeset->id);
    }
    if (r > 0)
        r = check_paths(&u);
    if (r == 0)
        r = apply_remove_leftovers(changeset, err);
    if (r == 0)
        r = plan(&u);
    if (r == 0)
        r = undo_all(&u);
    free(u.keep);
    journal_close(&u.journal);
    apply_plan_done(&u.plan);
    return r;
}
