/* Files of a project that we read ourselves, outside of any sandbox.
 *
 * Whoever may write to the project chose what is in it and may change it meanwhile: a link, a pipe
 * or a device can stand where a file was.  So each is opened below the project's directory without
 * following a link at any component, is a regular file, and is read once, within bounds on one file
 * and on all; what the project leaves out (model/exclude.h) is not read
 * (docs/decisions/0075-files-of-a-project.md). */
#ifndef TOOLCHAIN_PROJECT_FILE_H
#define TOOLCHAIN_PROJECT_FILE_H

#include <sys/types.h>

#include "base/listing.h"
#include "model/exclude.h"
#include "model/request.h"

/* A directory below, without a link; empty: `dir_fd` itself, once more.  -1 with errno.  A file by
 * itself is opened by inode_open_regular. */
int project_file_open_dir(int dir_fd, const char *path);

struct project_tree {
    int fd; /* -1: none */
    const char *stage;
    struct exclude rules;
    uint64_t most, bytes; /* that may be read of it; that are left of them */
    size_t entries; /* files and names that may still be looked at */
};

#define PROJECT_FILE_BYTES ((uint64_t)64 << 20)
#define PROJECT_FILE_ENTRIES 200000

/* `dir` is the caller's word; `req` has what is left out.  The caller calls project_file_end, also
 * after an error. */
int project_file_begin(const char *dir, const sbr_request *req, const char *stage,
                       struct project_tree *ret, sbr_error *err) must_check;
void project_file_end(struct project_tree *tree);

struct project_text {
    char *data; /* NUL-terminated; the caller frees it */
    size_t len;
    bool executable;
};

/* 1: read; 0: it is not there, or left out; negative: it is no regular file, or beyond a bound. */
int project_file_read(struct project_tree *tree, const char *path, struct project_text *ret,
                      sbr_error *err) must_check;
/* The same for a file that the caller named: it is not left out. */
int project_file_read_named(struct project_tree *tree, const char *path, struct project_text *ret,
                            sbr_error *err) must_check;
/* The names in a directory: 1; 0: there is no such directory. */
int project_file_list(struct project_tree *tree, const char *path, struct listing *ret,
                      sbr_error *err) must_check;
/* S_IFREG and the like of what stands there itself; 0: nothing. */
mode_t project_file_type(const struct project_tree *tree, const char *path);

#endif
