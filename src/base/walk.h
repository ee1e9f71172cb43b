/* One walk over a tree by file descriptors, in the order of the names.
 *
 * An untrusted program may have made the tree, or may change it meanwhile: no link is followed,
 * what is opened is what was looked at (base/inode.h), depth and length of paths are bounded. */
#ifndef BASE_WALK_H
#define BASE_WALK_H

#include <sys/stat.h>

#include "base/err.h"

struct walk_entry {
    const char *path; /* below walk.top */
    const char *name;
    int dir_fd;         /* of the directory that has the name */
    int fd;             /* of the directory itself, once it is open; -1 before */
    unsigned int depth; /* 0: in the top itself */
    struct stat st;     /* all zero when fstatat failed */
};

/* 0: go on; WALK_SKIP: not into this directory; negative: ends the walk, which returns it. */
typedef int walk_visit(void *context, const struct walk_entry *entry, sbr_error *err);
#define WALK_SKIP 1

#define WALK_UNLOCK 1u    /* a directory whose mode keeps us out has mode 0700 while we are in it */
#define WALK_NO_MOUNTS 2u /* a directory on which something is mounted fails with EXDEV */
/* For a look at names, in no order: of what a directory tells the type, `st` has that type alone,
 * and the directory that is opened may be another one by then. */
#define WALK_TYPES 4u

struct walk {
    walk_visit *visit; /* everything, before its directory is opened */
    walk_visit *enter; /* a directory that is open now; may be NULL */
    walk_visit *leave; /* a directory, after all that is in it; may be NULL */
    /* What cannot be looked at, opened or read, with errno: EMLINK beyond max_depth, ENAMETOOLONG
     * beyond max_path.  NULL: that ends the walk with an error. */
    walk_visit *fail;
    void *context;
    const char *stage; /* of errors */
    const char *top;   /* what paths begin with; NULL: nothing */
    unsigned int flags;
    unsigned int max_depth; /* directories in one another; each takes a file descriptor */
    size_t max_path;
};

int walk_tree(int tree_fd, const struct walk *walk, sbr_error *err) must_check;

/* As `fail`: whatever cannot be looked at is left out. */
walk_visit walk_pass_over;

/* A regular file for reading, also one whose mode keeps its owner out.  -1 with errno. */
int walk_open_file(const struct walk_entry *entry);

#endif
