/* What apply, undo and the saving of a workspace have in common: paths that change from one state
 * to another.  Private to them.
 *
 *   apply_plan_look          what stands at each path now; nothing changes
 *   apply_plan_find_locked   which directories we need write access to; nothing changes
 *   apply_plan_run           new contents aside, one rename each, removals, modes of directories */
#ifndef CHANGES_APPLY_PLAN_H
#define CHANGES_APPLY_PLAN_H

#include <sys/stat.h>

#include "changes/apply.h"
#include "changes/changeset.h"
#include "model/changes.h"

enum step_state { STEP_TODO, STEP_ALREADY, STEP_CONFLICT };

/* One path. */
struct step {
    unsigned int root;
    const char *path;            /* borrowed */
    const struct change *change; /* that it belongs to; NULL: of an undo */
    struct node want;            /* kind NODE_NONE: it is removed */
    bool mode_only;
    const char *content; /* below the root's contents; of files and links */
    size_t number;       /* of the temporary name: the same in every attempt */

    /* Of an undo: everything becomes as it was. */
    bool exact;
    uid_t uid;
    gid_t gid;
    bool linkable; /* the content is the original file itself */

    enum step_state state;
    bool forced;
    struct stat there;    /* st_mode 0: nothing */
    size_t temp_len;      /* of the path of the directory with the temporary */
    bool has_temp, moves; /* moves: the content itself is renamed */
};

struct apply_root {
    int fd, content_fd;
    const char *source; /* for errors */
};

/* A directory of ours that we may not write to: opened for the duration of the plan. */
struct opened_dir {
    unsigned int root;
    char *path; /* "" is the root itself */
    mode_t mode;
};

struct apply_plan {
    const char *id;
    unsigned int flags; /* APPLY_* */
    struct apply_root *roots;
    size_t n_roots;
    struct step *steps; /* in the order of roots and paths */
    size_t n;
    struct opened_dir *opened;
    size_t n_opened;
    size_t n_done;
};

/* All zero but for the id; `n_roots` with file descriptors -1. */
int apply_plan_init(struct apply_plan *e, const char *id, size_t n_roots, sbr_error *err)
    must_check;
void apply_plan_done(struct apply_plan *e);
int apply_plan_add(struct apply_plan *e, const struct step *step, sbr_error *err) must_check;
/* One step or, for a rename, two; none for pipes, sockets and devices. */
int apply_plan_add_change(struct apply_plan *e, const struct change *change, size_t number,
                          sbr_error *err) must_check;
void apply_plan_sort(struct apply_plan *e);
/* The step of that path, or NULL. */
struct step *apply_plan_find(const struct apply_plan *e, unsigned int root, const char *path,
                             size_t len);
/* What the steps do to the directories above the step's path. */
enum way { WAY_OTHER, WAY_MADE, WAY_GOES };
enum way apply_plan_way(const struct apply_plan *e, const struct step *step);

/* Fills `there`. 1, 0 when the way there is barred (*ret_errno: ELOOP, ENOTDIR, ENOENT, EXDEV), or
 * negative. */
int apply_plan_look(struct apply_plan *e, struct step *step, int *ret_errno, sbr_error *err)
    must_check;
int apply_plan_find_locked(struct apply_plan *e, sbr_error *err) must_check;
int apply_plan_add_opened(struct apply_plan *e, unsigned int root, const char *path, mode_t mode,
                          sbr_error *err) must_check;

/* For a tree of ours: opens directories above the step's path that keep us out.  Both
 * apply_plan_close_way and apply_plan_run restore their modes, also after a failure. */
int apply_plan_open_way(struct apply_plan *e, const struct step *step, sbr_error *err) must_check;
void apply_plan_close_way(struct apply_plan *e);

/* Carries out all that is STEP_TODO.  When it fails, what was not changed yet is as it was, and no
 * temporary is left; n_done counts the changes. */
int apply_plan_run(struct apply_plan *e, sbr_error *err) must_check;

/* Of apply_make.c: new contents aside. */
#define TEMP_NAME_SIZE 80
void apply_plan_temp_name(const struct apply_plan *e, const struct step *step,
                          char name[TEMP_NAME_SIZE]);
int apply_plan_make_temps(struct apply_plan *e, sbr_error *err) must_check;
/* Those of earlier attempts too. */
void apply_plan_remove_temps(struct apply_plan *e);
/* The mode of the step's path; `now` is that of what was made there. */
mode_t apply_plan_mode(const struct step *step, mode_t now);
/* For utimensat: the time that the path is to have. */
void apply_plan_times(const struct step *step, struct timespec times[2]);
/* 0, or -1 with errno: gives a new directory or link its owner. */
int apply_plan_own(const struct step *step, int dir_fd, const char *name);

int apply_plan_fail(const struct step *step, const char *what, sbr_error *err);

/* What undo needs: ID/undo/ with `journal` and the originals, which have numbers for names.
 *
 * Originals are on the disk before the journal names them; the journal is, before anything is
 * touched.  What was stored first stays: a repeated apply finds its own files, which are no
 * originals.  Private to apply and undo. */
struct journal_entry {
    unsigned int root;
    char *path;
    struct node was; /* kind NODE_NONE: nothing */
    struct node now; /* what apply makes of it */
    uid_t uid;
    gid_t gid;
    char original[24]; /* name in undo/; "" when none is needed */
    size_t number;     /* of the step's temporary name */
    bool mode_only;
    bool opened; /* a directory that apply made writable for a while */
    bool linked; /* the original is the file itself, no copy */
};

struct journal {
    int fd;                      /* of undo/; -1: there is none */
    struct journal_entry *items; /* in the order of roots and paths */
    size_t n;
    uint64_t next; /* name of the next original */
};

/* 1; 0 when there is nothing to undo and `make` is false; negative. */
int journal_open(struct changeset *changeset, bool make, struct journal *ret, sbr_error *err)
    must_check;
void journal_close(struct journal *j);
struct journal_entry *journal_find(const struct journal *j, unsigned int root, const char *path);

/* Stores what the steps are going to touch and writes the journal.  Updates `there` of the steps: a
 * link to a file changes its times.  When it fails, the journal is as it was. */
int journal_record(struct journal *j, struct apply_plan *e, sbr_error *err) must_check;
/* Removes entries (`keep[i]` false) and writes the journal; the last one removes the directory. */
int journal_reduce(struct changeset *changeset, struct journal *j, const bool *keep, sbr_error *err)
    must_check;

/* Which changes are selected, and their conflicts.  Private to apply and undo. */

/* One for each change of the changeset: whether `options` select it. */
int apply_select_changes(const struct changeset *changeset, const struct apply_options *options,
                         bool *mask, sbr_error *err) must_check;
/* Lists what is left out because others execute it. */
int apply_report_left(const struct changes *changes, const struct apply_options *options,
                      struct apply_report *report, sbr_error *err) must_check;
/* `path` is one of them, or below one. */
bool apply_path_is_covered(const char *path, const char *const *covers, size_t n);

/* Removes temporaries of an apply or undo that was killed. */
int apply_remove_leftovers(const struct changeset *changeset, sbr_error *err) must_check;
/* Opens the roots of the changeset. */
int apply_open_roots(const struct changeset *changeset, struct apply_plan *e, sbr_error *err)
    must_check;

/* Fills the state of each step, and reports conflicts. */
int apply_check_steps(struct apply_plan *e, const struct apply_options *options,
                      const struct journal *journal, struct apply_report *report, sbr_error *err)
    must_check;

/* Adds a conflict, unless `force` covers the path. */
int apply_conflict_add(struct step *step, const char *why, const struct apply_options *force,
                       struct apply_report *report, sbr_error *err) must_check;

/* 1: the file or link at the step's path has the content of `content` below `content_fd`; 0; or -1
 * with errno. */
int apply_has_content(const struct apply_plan *e, const struct step *step, int content_fd,
                      const char *content);
/* 1: a directory has something in it that no step removes; 0: not; negative. */
int apply_has_others(const struct apply_plan *e, const struct step *step, sbr_error *err)
    must_check;

#endif
