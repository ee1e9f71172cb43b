/* The way to a path, name by name: who can lead it elsewhere?
 *
 * Where a path leads does not say through which directories it goes.  Whoever writes to one of
 * them, even to one that holds only a link, decides where the path leads next time. */
#ifndef BASE_WAY_H
#define BASE_WAY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A directory of the host whose names others chose: a project, or what a run is given. */
struct way_tree {
    struct stat st;
    bool written; /* a program writes to the directory itself, so names change at any time */
};

struct way_rules {
    const struct way_tree *trees;
    size_t n_trees;
    bool make;      /* directories that are missing */
    bool no_links;  /* stops at a link that stands in one of the trees */
    bool own;       /* stops at a name that a third user can change: neither root nor we */
    bool own_links; /* the same, only where it is a link */
};

struct way {
    int fd;       /* the last directory that is there; -1: nothing could be looked at */
    int error;    /* errno of the name at which it ended; 0: none */
    bool whole;   /* the path leads to this directory, and no name is missing */
    bool crosses; /* a name is looked up in a tree that is written to, or below; or it ends in one
                   * that is a file */
    bool linked;  /* it stopped at a link in a tree */
    bool foreign; /* it stopped at a name of a third user */
    bool last;    /* no name is left behind `name` */
    char name[NAME_MAX + 1]; /* at which it ended, in the directory `fd` */
};

/* Follows links as the rules allow.  The caller closes way.fd. */
struct way way_follow(const char *path, const struct way_rules *rules);

/* The same with one tree that is written to, and all links. */
struct way way_walk(const char *path, const struct stat *top);

/* Opens what the path names, with O_NOFOLLOW and O_CLOEXEC.  A link on the way is followed unless a
 * third user can change it: ELOOP.  -1 with errno. */
int way_open(const char *path, int flags);

/* Whether `top` is the directory or one above it.  Compares inodes, so that links and bind mounts
 * hide nothing.  A directory that cannot be read counts as found. */
bool way_is_below(int dir_fd, const struct stat *top);

bool way_is_same(const struct stat *a, const struct stat *b);

#endif
