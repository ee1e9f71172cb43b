/* Where changesets, workspaces and kept output are: the user's own directory, not a cache.
 *
 * $SANDBOX_RUN_STATE if set; otherwise the first of $XDG_STATE_HOME/sandbox-run,
 * ~/.local/state/sandbox-run and /var/tmp/sandbox-run-UID/state that is ours or can be made.  Mode
 * 0700, ours alone, or it is refused. */
#ifndef CHANGES_STATE_DIR_H
#define CHANGES_STATE_DIR_H

#include <stdbool.h>

#include "base/encoding.h"
#include "base/err.h"

#define STATE_PATH_SIZE 1200

#define STATE_CHANGES "changes"       /* ID/            */
#define STATE_WORKSPACES "workspaces" /* NAME/          */
#define STATE_OUTPUT "output"         /* ID/            */
#define STATE_SESSIONS "sessions"     /* ID/            */
#define STATE_STAGING "staging"       /* what is being made; swept when its maker is dead */

struct state_dir {
    int fd;                     /* -1 when not open */
    char path[STATE_PATH_SIZE]; /* absolute */
};

/* The directory `name` of the state. 1: open; 0: not there, and not to be made; negative: error. */
int state_open(const char *name, bool make, struct state_dir *ret, sbr_error *err) must_check;
void state_close(struct state_dir *dir);
/* Where the state is, or would be made. */
int state_path(char *buf, size_t size, sbr_error *err) must_check;
/* The current errno, with advice for the user. */
int state_fail(const char *what, const char *path, sbr_error *err);

/* A directory of our own in which things are made; locked while this process lives. */
struct staging {
    char id[ENCODING_ID_SIZE];
    char path[STATE_PATH_SIZE]; /* absolute */
    int fd;                     /* of the directory, mode 0700; -1: none */
    int lock_fd;
};
/* Removes what makers that died left behind, too. */
int staging_open(struct staging *ret, sbr_error *err) must_check;
/* Removes it; does nothing a second time. */
void staging_discard(struct staging *staging);
/* Its contents were moved elsewhere: closes it. */
void staging_release(struct staging *staging);

#endif
