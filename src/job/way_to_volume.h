/* The way to a path, name by name: who can lead it elsewhere?
 *
 * Where a path leads in the end does not say through which directories it went.  Whoever writes to one of them, also
 * one in which only a link stands, decides where the path leads next time. */
#ifndef JOB_WAY_TO_VOLUME_H
#define JOB_WAY_TO_VOLUME_H

#include <stdbool.h>
#include <sys/stat.h>

struct way {
    int fd;       /* the last directory that is there; -1: nothing could be looked at */
    bool whole;   /* the path leads to this directory, and no name is missing */
    bool crosses; /* a name on it is looked up in `top` or below, or it ends in `top`, a file */
};

/* The caller closes the descriptor. */
struct way way_walk(const char *path, const struct stat *top);

/* Whether `top` is the directory or one of those above it.  By what they are: links and other names of a mount are no
 * way around it.  What cannot be looked at counts as found. */
bool way_is_below(int dir_fd, const struct stat *top);

bool way_is_same(const struct stat *a, const struct stat *b);

#endif
