/* What apply, undo and the saving of a workspace have in common: paths that are brought from one state to another.
 * Private to them.
 *
 *   engine_look, or the checks       what stands at each path now                      nothing changes
 *   engine_find_locked               which directories must be opened for us           nothing changes
 *   engine_run                       new contents aside, then one rename each, then what goes, then modes of directories */
#ifndef CHANGES_APPLY_PLAN_H
#define CHANGES_APPLY_PLAN_H

#include <sys/stat.h>

#include "model/changes.h"

enum step_state { STEP_TODO, STEP_ALREADY, STEP_CONFLICT };

/* One path. */
struct step {
    unsigned int root;
    const char *path;            /* borrowed */
    const struct change *change; /* that it belongs to; NULL: of an undo */
    struct node want;            /* kind NODE_NONE: it goes */
    bool mode_only;
    const char *content; /* below the root's contents; of files and links */
    size_t number;       /* of the temporary name: the same whenever it is repeated */

    /* Of an undo: all is to be as it was. */
    bool exact;
    uid_t uid;
    gid_t gid;
    bool linkable; /* the content is the very file that was there */

    enum step_state state;
    bool forced;
    struct stat there;    /* st_mode 0: nothing */
    size_t temp_len;      /* of the path of the directory that has the temporary */
    bool has_temp, moves; /* moves: the content itself is renamed */
};

struct engine_root {
    int fd, content_fd;
    const char *source; /* for errors */
};

/* A directory of ours that is not ours to write to: opened while we are at it. */
struct opened_dir {
    unsigned int root;
    char *path; /* "" is the root itself */
    mode_t mode;
};

struct engine {
    const char *id;
    unsigned int flags; /* APPLY_* */
    struct engine_root *roots;
    size_t n_roots;
    struct step *steps; /* in the order of roots and paths */
    size_t n;
    struct opened_dir *opened;
    size_t n_opened;
    size_t n_done;
};

/* All zero but for the id and flags; `n_roots` with descriptors -1. */
int engine_init(struct engine *e, const char *id, size_t n_roots, sbr_error *err) must_check;
void engine_done(struct engine *e);
int engine_add(struct engine *e, const struct step *step, sbr_error *err) must_check;
/* One or, for what was renamed, two; none for what cannot be brought about (pipes, sockets, devices). */
int engine_add_change(struct engine *e, const struct change *change, size_t number, sbr_error *err)
    must_check;
void engine_sort(struct engine *e);
/* The step of that path; NULL when there is none. */
struct step *engine_find(const struct engine *e, unsigned int root, const char *path, size_t len);
/* What the steps do to the directories on the way to the step's path: make them, take them away, or neither. */
enum way { WAY_OTHER, WAY_MADE, WAY_GOES };
enum way engine_way(const struct engine *e, const struct step *step);

/* Fills `there`.  1, 0 when the way there is barred (*ret_errno: ELOOP, ENOTDIR, ENOENT, EXDEV), or negative. */
int engine_look(struct engine *e, struct step *step, int *ret_errno, sbr_error *err) must_check;
int engine_find_locked(struct engine *e, sbr_error *err) must_check;
int engine_add_opened(struct engine *e, unsigned int root, const char *path, mode_t mode,
                      sbr_error *err) must_check;

/* For a tree of ours: opens what keeps us out on the way to the step's path.  engine_close_way gives all their modes back,
 * and so does engine_run, whatever becomes of it. */
int engine_open_way(struct engine *e, const struct step *step, sbr_error *err) must_check;
void engine_close_way(struct engine *e);

/* Brings everything that is STEP_TODO about.  When it fails, what was not changed yet is as it was, and no temporary is
 * left; n_done says how much was changed. */
int engine_run(struct engine *e, sbr_error *err) must_check;

/* Of apply_make.c: new contents aside. */
#define TEMP_NAME_SIZE 80
void engine_temp_name(const struct engine *e, const struct step *step, char name[TEMP_NAME_SIZE]);
int engine_make_temps(struct engine *e, sbr_error *err) must_check;
/* Whatever an earlier attempt or this one left. */
void engine_remove_temps(struct engine *e);
/* The mode that the step's path is to have; `now` is that of what was made there. */
mode_t engine_mode(const struct step *step, mode_t now);
/* 0, or -1 with errno: gives a new directory or link its owner. */
int engine_own(const struct step *step, int dir_fd, const char *name);

int engine_fail(const struct step *step, const char *what, sbr_error *err);

#endif
