/* An archive as a sequence of entries.  What it says is checked as text; nothing is made here. */
#ifndef WORKSPACE_TAR_PARSE_H
#define WORKSPACE_TAR_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct tar_in {
    int fd;
    char *chunk; /* what was read ahead */
    size_t pos, len;
    bool begun;
};

enum tar_kind { TAR_FILE, TAR_HARD_LINK, TAR_LINK, TAR_DIR, TAR_OTHER };

struct tar_entry {
    enum tar_kind kind;
    char *path; /* relative, without empty, "." and ".." parts; empty: the top */
    char *link; /* text of a link; a hard link: a path like the other; else NULL */
    uint64_t size;
    uint32_t mode; /* of 0777 */
    struct timespec mtime;
};

int tar_in_init(struct tar_in *in, int fd, sbr_error *err) must_check;
void tar_in_done(struct tar_in *in);
/* Exactly `len` bytes. */
int tar_in_read(struct tar_in *in, void *to, size_t len, sbr_error *err) must_check;
/* What stands between the content of an entry and the next header. */
int tar_in_pad(struct tar_in *in, uint64_t size, sbr_error *err) must_check;

/* 1: an entry, whose content (`size` bytes and their padding) the caller reads; 0: the end.  *ret is to be given to
 * tar_entry_done() either way. */
int tar_next(struct tar_in *in, struct tar_entry *ret, sbr_error *err) must_check;
void tar_entry_done(struct tar_entry *entry);

#endif
