/* A file of the host that is written on behalf of a run: its old contents or its new ones, never a
 * part, and never another file than the caller named.
 *
 * The way to it is walked once, before the run, and the directory is held from then on: nobody can
 * lead the name elsewhere.  Links of the caller are followed.  In a tree whose names others chose
 * (a project, a volume) none is, and a tree that a program writes to is refused unless the file in
 * it is what the call is about. */
#ifndef BASE_SAVE_H
#define BASE_SAVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/aside.h"
#include "base/err.h"
#include "base/way.h"

/* Trees whose names the caller did not choose. */
struct save_trees {
    struct way_tree *items;
    size_t n;
    bool meant; /* the file may lie where the program writes: a notebook in its own volume */
};

/* A path that leads nowhere is left out.  `written`: a program writes to it. */
int save_trees_add(struct save_trees *trees, const char *path, bool written, sbr_error *err)
    must_check;
void save_trees_done(struct save_trees *trees);
#define scoped_save_trees __attribute__((cleanup(save_trees_done)))

struct save_file {
    int dir_fd; /* of the file; -1: nothing is open, or `out_fd` takes the bytes as they come */
    int out_fd; /* a descriptor of ours, a pipe or a device */
    bool plain; /* a file that is replaced */
    bool kept;  /* `out_fd` is not ours to close */
    struct aside aside; /* its new contents */
    char name[NAME_MAX + 1];
    const char *path; /* as the caller named it; must outlive this */
};

#define SAVE_FILE_NONE ((struct save_file){ .dir_fd = -1, .out_fd = -1, .aside = { .fd = -1 } })

/* The first look.  `trees` may be NULL.  A directory, a socket, a block device, and in a foreign
 * tree a pipe and any device are refused. */
int save_file_open(struct save_file *f, const char *path, const struct save_trees *trees,
                   sbr_error *err) must_check;
/* Where the bytes go; -1 with the error. */
int save_file_begin(struct save_file *f, sbr_error *err) must_check;
/* The file has its name and its bytes are on the disk.  Permissions and the owner of an earlier
 * file stay; set-id bits are never set. */
int save_file_end(struct save_file *f, sbr_error *err) must_check;
/* What the file holds now; its caller frees it. */
int save_file_read(const struct save_file *f, size_t most, char **ret, size_t *ret_len,
                   sbr_error *err) must_check;
/* Begins, writes all, ends.  Can be repeated. */
int save_file_write(struct save_file *f, const void *data, size_t len, sbr_error *err) must_check;
/* Removes what has no name yet. */
void save_file_done(struct save_file *f);
#define scoped_save_file __attribute__((cleanup(save_file_done)))

/* A directory that gets files, by the same rules; `make`: it and those above it.  -1 with the
 * error. */
int save_dir_open(const char *path, const struct save_trees *trees, bool make, sbr_error *err)
    must_check;

#endif
