/* Everything in a tree that nobody but us writes to now, in the order of its names. */
#ifndef CHANGES_WALK_H
#define CHANGES_WALK_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

struct walk_entry {
    const char *path; /* below the tree */
    const char *name;
    int dir_fd; /* where the name stands */
    struct stat st;
};

/* Directories come before what is in them.  Not 0 ends the walk, which returns it; errors are the visitor's to set. */
typedef int walk_visit(void *context, const struct walk_entry *entry, sbr_error *err);
int walk_tree(int tree_fd, walk_visit *visit, void *context, sbr_error *err) must_check;

/* What a file takes in blocks of 4 KiB, holes not counted; other kinds take nothing. */
uint64_t walk_blocks(const struct walk_entry *entry);

#endif
