/* The way to a path, name by name: can a program that writes to a volume lead it elsewhere?
 *
 * Where a path leads does not say through which directories it goes.  A program that writes to one
 * of them, even one that holds only a link, decides where the path leads next time. */
#ifndef JOB_WAY_TO_VOLUME_H
#define JOB_WAY_TO_VOLUME_H

#include <stdbool.h>
#include <sys/stat.h>

struct way {
    int fd;       /* the last directory that is there; -1: nothing could be looked at */
    bool whole;   /* the path leads to this directory, and no name is missing */
    bool crosses; /* a name on it is looked up in `top` or below, or it ends in `top`, a file */
};

/* The caller closes way.fd. */
struct way way_walk(const char *path, const struct stat *top);

/* Whether `top` is the directory or one above it.  Compares inodes, so that links and bind mounts
 * hide nothing.  A directory that cannot be read counts as found. */
bool way_is_below(int dir_fd, const struct stat *top);

bool way_is_same(const struct stat *a, const struct stat *b);

#endif
