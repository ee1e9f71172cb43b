/* A directory that belongs to one user and that only we write to: the cache, the state.
 *
 * A variable names it, else it is the first of the user's places that is theirs or can be made.  A
 * directory of another user, or one that others may write to, is refused: they would choose what is
 * in it. */
#ifndef BASE_USER_DIR_H
#define BASE_USER_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define USER_DIR_SIZE 1040

struct user_dir_kind {
    const char *noun;       /* "cache": the stage of errors, and what they call it */
    const char *variable;   /* that names it, if set */
    const char *xdg;        /* a variable, the directory is sandbox-run below it */
    const char *in_home;    /* below $HOME */
    const char *in_shared;  /* name below /var/tmp/sandbox-run-UID; NULL: that itself */
    const char *when_full;  /* advice in parentheses, with a blank before it */
    mode_t forbidden;       /* bits that its mode must not have */
    int (*furnish)(int fd); /* fills a new one; 0, or -1 with errno */
};

struct user_dir {
    int fd; /* O_PATH; -1 when not open */
    char path[USER_DIR_SIZE];
};

/* 1: open; 0: there is none at `path`, and it was not to be made; negative: it cannot be used. */
int user_dir_open(const struct user_dir_kind *kind, bool make, struct user_dir *ret, sbr_error *err)
    must_check;
void user_dir_done(struct user_dir *dir);

/* Where it is, or would be made. */
int user_dir_path(const struct user_dir_kind *kind, char *buf, size_t size, sbr_error *err)
    must_check;

/* The first place that the environment names, without a look at it; false: there is none. */
bool user_dir_guess(const struct user_dir_kind *kind, char path[USER_DIR_SIZE]);

/* Whether another user, neither root nor we, chooses what is in the directory. */
bool user_dir_is_foreign(const char *path);

/* HOME, from which settings, credentials and tools are taken; NULL: none, or that of another user,
 * as it can be with sudo.  Their links would name any file of ours, and their settings what is
 * read. */
const char *user_dir_home(void);

/* Where files of ours may lie for a while: TMPDIR, but /tmp when another user can change names in
 * it or on the way to it, because such files are found again by their names. */
const char *user_dir_temporary(void);

#define scoped_user_dir __attribute__((cleanup(user_dir_done)))

/* The current errno, with advice for the user. */
int user_dir_fail(const struct user_dir_kind *kind, const char *what, const char *path,
                  sbr_error *err);

#endif
