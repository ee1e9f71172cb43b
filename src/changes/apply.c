/* Theory: apply_steps.c has the order, apply_check.c the conflicts, journal.h the undo.
 *
 * apply() goes forward only: it checks everything, stores what it is going to replace, makes new
 * contents aside, then renames.  Killed anywhere, it can be repeated: it recognises what is done by
 * its content, what was stored first stays stored, and temporary names have the number of their
 * change in them, so that they are found again. */
#include "changes/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/apply_plan.h"

#define WORKSPACE_ID "workspace" /* in the names of temporaries */

static int look_at_all(struct apply_plan *e, sbr_error *err)
{
    for (size_t i = 0; i < e->n; i++) {
        struct step *s = &e->steps[i];
        int barred;

        int r = apply_plan_look(e, s, &barred, err);

        if (r < 0 && err->sys_errno == EACCES && apply_plan_open_way(e, s, err) == 0)
            r = apply_plan_look(e, s, &barred, err);
        if (r < 0)
            return err->code;
        if (s->want.kind == NODE_NONE && !s->there.st_mode)
            s->state = STEP_ALREADY;
    }
    return 0;
}

int apply_to(int root_fd, int content_fd, const struct changes *changes, unsigned int flags,
             sbr_error *err)
{
    struct apply_plan e;
    int r = apply_plan_init(&e, WORKSPACE_ID, 1, err);

    e.flags = flags | APPLY_NO_CHECK;
    for (size_t i = 0; r == 0 && i < changes->n; i++) {
        struct change one = changes->items[i];

        one.root = 0;
        r = apply_plan_add_change(&e, &one, i, err);
    }
    for (size_t i = 0; i < e.n; i++)
        e.steps[i].change = NULL; /* whatever stands there */
    apply_plan_sort(&e);
    if (r == 0) {
        e.roots[0].fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        e.roots[0].content_fd = openat(content_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        e.roots[0].source = "the workspace";
        if (e.roots[0].fd < 0 || e.roots[0].content_fd < 0)
            r = err_set_errno(err, "apply", "cannot open the workspace");
    }
    if (r == 0)
        r = look_at_all(&e, err);
    if (r == 0)
        r = apply_plan_find_locked(&e, err);
    if (r == 0)
        r = apply_plan_run(&e, err);
    else
        apply_plan_close_way(&e);
    apply_plan_done(&e);
    return r;
}

static int open_contents(const struct changeset *changeset, struct apply_plan *e, sbr_error *err)
{
    for (size_t i = 0; i < e->n_roots; i++) {
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        char name[24];

        snprintf(name, sizeof(name), "%zu", i);
        e->roots[i].content_fd = openat(changeset->tree_fd, name, flags);
        if (e->roots[i].content_fd < 0 &&
            errno == ENOENT) /* no contents: any directory without them will do */
            e->roots[i].content_fd = openat(changeset->tree_fd, ".", flags);
        if (e->roots[i].content_fd < 0)
            return err_set_errno(err, "apply", "cannot read the kept changes %.8s", changeset->id);
    }
    return 0;
}

/* The steps that `options` select. */
static int plan(const struct changeset *changeset, const struct apply_options *options,
                struct apply_plan *e, struct apply_report *report, sbr_error *err)
{
    bool *mask = calloc(changeset->changes.n + 1, sizeof(*mask));
    int r = apply_plan_init(e, changeset->id, changeset->changes.n_roots, err);

    if (r == 0)
        r = mask ? apply_select_changes(changeset, options, mask, err) : err_set_oom(err, "apply");
    for (size_t i = 0; r == 0 && i < changeset->changes.n; i++) {
        if (!mask[i])
            continue;
        report->skipped += changeset->changes.items[i].now.kind == NODE_OTHER;
        r = apply_plan_add_change(e, &changeset->changes.items[i], i, err);
    }
    free(mask);
    if (r == 0)
        r = apply_report_left(&changeset->changes, options, report, err);
    if (r < 0)
        return r;
    e->flags = options->flags;
    apply_plan_sort(e);
    r = apply_open_roots(changeset, e, err);
    return r < 0 ? r : open_contents(changeset, e, err);
}

/* A renamed file is one change and two steps. */
static size_t count(const struct apply_plan *e, enum step_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++)
        n += e->steps[i].state == state &&
             (!e->steps[i].change || e->steps[i].path == e->steps[i].change->path);
    return n;
}

int apply_check(const struct changeset *changeset, const struct apply_options *options,
                struct apply_report *report, sbr_error *err)
{
    struct apply_plan e;
    struct journal journal = { .fd = -1 };
    int r;

    *report = (struct apply_report){ 0 };
    r = plan(changeset, options, &e, report, err);
    if (r == 0)
        r = journal_open((struct changeset *)changeset, false, &journal, err);
    if (r >= 0)
        r = apply_check_steps(&e, options, &journal, report, err);
    if (r == 0)
        report->already = count(&e, STEP_ALREADY);
    journal_close(&journal);
    apply_plan_done(&e);
    return r;
}

/* Directories that an attempt before had opened are closed by this one. */
static int find_opened(struct apply_plan *e, const struct journal *journal, sbr_error *err)
{
    for (size_t i = 0; i < journal->n; i++)
        if (journal->items[i].opened &&
            apply_plan_add_opened(e, journal->items[i].root, journal->items[i].path,
                                  journal->items[i].was.mode, err) < 0)
            return err->code;
    return apply_plan_find_locked(e, err);
}

/* Nothing was touched: the undo is what it was. */
static void take_back(struct changeset *changeset, struct journal *journal,
                      const struct apply_plan *e)
{
    scoped_free bool *keep = calloc(journal->n + 1, sizeof(*keep));
    sbr_error ignored;

    for (size_t i = 0; keep && i < journal->n; i++) {
        const struct journal_entry *entry = &journal->items[i];
        const struct step *s = apply_plan_find(e, entry->root, entry->path, strlen(entry->path));

        keep[i] = !s || s->state != STEP_TODO;
    }
    if (keep && journal_reduce(changeset, journal, keep, &ignored) < 0)
        return; /* it has more in it than it needs */
}

static void report_progress(const struct apply_plan *e, sbr_error *err)
{
    size_t used = strlen(err->message);

    if (e->n_done)
        snprintf(err->message + used, sizeof(err->message) - used,
                 "; %zu were applied before: repeat it, or undo them", e->n_done);
    else
        snprintf(err->message + used, sizeof(err->message) - used, "; nothing was changed");
}

static int run(struct changeset *changeset, struct apply_plan *e, struct journal *journal,
               sbr_error *err)
{
    bool undo = !(e->flags & APPLY_NO_UNDO);
    int r = 0;

    if (undo)
        r = journal_record(journal, e, err);
    if (r == 0 && undo)
        r = changeset_mark(changeset, true, err);
    if (r == 0)
        r = apply_plan_run(e, err);
    if (r < 0)
        report_progress(e, err);
    if (r < 0 && undo && e->n_done == 0)
        take_back(changeset, journal, e);
    return r;
}

int apply(struct changeset *changeset, const struct apply_options *options,
          struct apply_report *report, sbr_error *err)
{
    struct apply_plan e = { 0 };
    struct journal journal = { .fd = -1 };
    int r;

    *report = (struct apply_report){ 0 };
    if (changeset_lock(changeset, err) < 0)
        return err->code;
    if (changeset->applied && apply_remove_leftovers(changeset, err) < 0)
        return err->code;
    r = plan(changeset, options, &e, report, err);
    if (r == 0)
        r = journal_open(changeset, false, &journal, err);
    if (r >= 0)
        r = apply_check_steps(&e, options, &journal, report, err);
    if (r == 0 && report->conflicts.n)
        r = err_set(
            err, SBR_E_DENIED, "apply",
            "%zu of the changes are in conflict with what is there now; nothing was applied",
            report->conflicts.n);
    if (r == 0)
        r = find_opened(&e, &journal, err);
    if (r == 0)
        report->already = count(&e, STEP_ALREADY);
    if (r == 0 && (count(&e, STEP_TODO) || e.n_opened)) {
        journal_close(&journal);
        r = journal_open(changeset, !(options->flags & APPLY_NO_UNDO), &journal, err);
        if (r >= 0)
            r = run(changeset, &e, &journal, err);
        report->applied = r == 0 ? count(&e, STEP_TODO) : e.n_done;
    }
    journal_close(&journal);
    apply_plan_done(&e);
    return r;
}
