/* A small file of ours that is whole or not there: a magic number, fields (base/buf.h), and the
 * SHA-256 of both in hexadecimal.  What a crash cut off, another version wrote or an editor changed
 * is recognised.  A sum proves no more than that: fields are checked all the same. */
#ifndef BASE_RECORD_H
#define BASE_RECORD_H

#include <time.h>

#include "base/buf.h"

struct record {
    struct buf_reader fields; /* behind the magic number */
    struct timespec written;  /* modification time of the file */
    char *data;
};

/* 1: read; 0: it is not there, not whole, or not of this kind; -1 with errno: it cannot be read.
 * The caller calls record_done either way. */
int record_read(int dir_fd, const char *name, uint32_t magic, size_t max, struct record *ret);
void record_done(struct record *record);

#define scoped_record __attribute__((cleanup(record_done)))

#define RECORD_FLUSH 1u  /* on the disk before it has its name: for what cannot be made again */
#define RECORD_SHARED 2u /* several processes may write it at the same time */

/* The fields follow with buf_put_*. */
void record_begin(struct buf *data, uint32_t magic, size_t max);
/* Appends the sum. */
void record_finish(struct buf *data);
/* Finishes it, writes it aside and renames it.  0, or -1 with errno and the old file as it was; the
 * buffer is used up. */
int record_write(int dir_fd, const char *name, struct buf *data, unsigned int flags);

/* Before each system call that changes what has to survive a crash: test builds end here when it is
 * the turn (SANDBOX_RUN_TEST_APPLY). */
void record_crash_point(void);

#endif
