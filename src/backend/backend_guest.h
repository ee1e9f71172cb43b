/* The guest's side of a container, whichever program made it: a directory of the run's own, the
 * socket in it, and the hand-over of init's file descriptors (wire/guest_msg.h). */
#ifndef BACKEND_BACKEND_GUEST_H
#define BACKEND_BACKEND_GUEST_H

#include "base/encoding.h"
#include "base/user_dir.h"
#include "sandbox/channels.h"
#include "sandbox/sandbox.h"

#define BACKEND_SHARE "share" /* shown in the container as GUEST_DIR */

struct backend_guest {
    struct user_dir parent;
    char id[ENCODING_ID_SIZE]; /* name of the directory, and of the container */
    char dir[USER_DIR_SIZE + ENCODING_ID_SIZE];
    int dir_fd; /* holds the lock that keeps others from sweeping it */
    int listener;
    pid_t pid;         /* of the guest, once it has connected */
    bool is_late;      /* it has not connected in time */
    const char *maker; /* of the container, for people */
    struct sandbox_wait wait;
};

/* False: the caller does not want the container any more. */
bool backend_guest_is_wanted(const struct sandbox_wait *wait);
int backend_guest_not_wanted(sbr_error *err);

/* Makes the directory with init's image and a socket, for a container whose guest has this uid. */
int backend_guest_open(struct backend_guest *guest, sbr_error *err) must_check;

/* Waits until the guest connects, or `maker_fd` is readable: the maker of the container has ended.
 * 1: connected and init runs; 0: the maker ended first; negative: an error. */
int backend_guest_await(struct backend_guest *guest, int maker_fd, struct sandbox *box,
                        const struct plan *plan, const struct far_channels *far, sbr_error *err)
    must_check;

/* Removes the directory. */
void backend_guest_close(struct backend_guest *guest);

#endif
