/* Takes in the tree that init hands out (sandbox/collect.h) and writes it below a directory of ours.
 *
 *   (1) What arrives was made by a stranger: every name is one component, every file is new, no link is
 *       followed, bytes and entries are counted against a maximum.
 *   (2) Of modes only "executable" is kept; of owners nothing. */
#ifndef MONITOR_INTAKE_H
#define MONITOR_INTAKE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "sandbox/collect.h"

struct intake {
    uint64_t max_bytes, max_entries;
    int fd; /* to read from; -1: closed */
    struct loop *loop;
    int dirs[COLLECT_MAX_DEPTH + 1]; /* dirs[0] is borrowed from the caller */
    int depth;
    size_t path_len[COLLECT_MAX_DEPTH + 1]; /* of the path to each of them */
    int file;                               /* being written; -1: none */
    uint64_t left;                          /* bytes of it that are still to come */
    unsigned char head[sizeof(struct collect_entry) + COLLECT_MAX_NAME];
    size_t head_len;
    char *link; /* text of a link, while it arrives */
    size_t link_len;
    uint64_t bytes, entries;
    bool complete;
    sbr_error failure; /* code 0: none */
};

/* `tree_fd` is an empty directory that nobody else writes to; it is borrowed. */
void intake_init(struct intake *intake, int tree_fd, uint64_t max_bytes, uint64_t max_entries);
/* Takes the descriptor over. */
int intake_start(struct intake *intake, int fd, struct loop *loop, sbr_error *err) must_check;
/* The writer is gone: reads what is left. */
void intake_finish(struct intake *intake);
void intake_done(struct intake *intake);
/* Bytes as they arrive; for tests. */
void intake_take(struct intake *intake, const unsigned char *data, size_t len);

#endif
