/* A real tree, and what was taken from above it. */
#ifndef TREE_PAIR_H
#define TREE_PAIR_H

#include <sys/stat.h>

#include "changes/collected_tree.h"
#include "model/changes.h"

struct tree_pair {
    char path[32];      /* of the room of both */
    char base_path[64]; /* of the real tree    */
    int disk_usage_fd, base_fd;
    int tree_fd; /* tree/: holds 0/, the contents */
    struct collected collected;
    struct changes changes; /* one root: the real tree at /work */
};

extern struct tree_pair t;

int pair_set_up(void **state);
int pair_tear_down(void **state);
/* Both, for tests of many trees. */
void pair_again(void);

/* Make something below a directory; directories on the way are not made. */
void tree_file(int dir_fd, const char *path, const char *text, mode_t mode);
void tree_dir(int dir_fd, const char *path, mode_t mode);
void make_link(int dir_fd, const char *path, const char *text);

/* What the sandbox handed out. */
void take_file(const char *path, const char *text, mode_t mode);
void take_dir(const char *path, mode_t mode, unsigned int flags);
void take_link(const char *path, const char *text);
void take_mark(enum collect_kind kind, const char *path, mode_t mode); /* GONE, OTHER, SKIPPED */

/* The changes, one line each: "created a/b", "renamed b from a"; whoever calls frees it. */
char *changes_lines(const struct changes *changes);
/* The same, compared and forgotten. */
void assert_changes(const char *expected);
const struct change *change_at(const char *path);

#endif
