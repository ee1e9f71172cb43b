/* Single files and directories of a tree that is handed out.  No other process inside is alive,
 * but other runs or the host may share a volume and replace a file at any time.  So each file is
 * opened without following links, compared with `st`, and changed only through its file
 * descriptor; ESTALE means that the name belongs to another file now.  `st` is what was seen
 * before, and is updated. */
#ifndef INIT_COLLECT_FILES_H
#define INIT_COLLECT_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "confine/confine.h"
#include "plan/plan.h"
#include "wire/collect.h"
#include "wire/control.h"

/* The stream that init writes while it hands out files (wire/collect.h): gathered into large
 * writes, and counted against what the supervisor accepts. */
#define STREAM_SIZE (128 * 1024)

struct stream {
    struct init_report *report;
    uint64_t bytes, sizes, entries; /* that may still be sent */
    size_t used;
    unsigned char data[STREAM_SIZE];
};

/* Each returns 0 or an errno; EPIPE: the supervisor wants no more. */
void collect_stream_init(struct stream *s, const struct plan *plan, struct init_report *report);
/* `name` and `st` may be NULL.  EDQUOT: there are too many entries. */
int collect_stream_entry(struct stream *s, struct collect_entry entry, const char *name,
                         const struct stat *st);
int collect_stream_bytes(struct stream *s, const void *data, size_t len);
/* Sends the data of a file from `from` to `end`, as pieces; reads into the buffer itself. */
int collect_stream_data(struct stream *s, int fd, uint64_t from, uint64_t end);
/* Counts a file against the limits; EFBIG: it exceeds them. */
int collect_stream_afford(struct stream *s, uint64_t bytes, uint64_t size);
/* To be called often: reports progress; EPIPE when the supervisor has dropped the collection. */
int collect_stream_tick(struct stream *s);
int collect_stream_flush(struct stream *s);

/* Opens a directory for reading; changes its mode if that locks init out.  NULL with errno. */
DIR *collect_open_dir(int at, const char *name, struct stat *st);
/* Opens a directory only to walk through it: an fd, or -1 with errno. */
int collect_pass(int at, const char *name, struct stat *st);
/* Restores the mode. */
void collect_restore(int fd, const struct stat *st);

/* Takes over the file descriptor; NULL with errno. */
DIR *collect_dir_of(int fd);

/* 0 or an errno.  EFBIG: it exceeds what may still be handed out, and nothing was sent. */
int collect_file(struct stream *s, int at, const char *name, struct stat *st);
/* The same as a hole of its size: who asked wants only the name. */
int collect_file_name(struct stream *s, const char *name, const struct stat *st);
int collect_link(struct stream *s, int at, const char *name, const struct stat *st);

/* Hands out files that match a pattern. */

/* 0 or an errno that ends the part. */
int collect_outputs(struct stream *s, int root_fd, const char *pattern);

/* Hands out what the plan collects.  See wire/collect.h. */

/* No other process inside may be alive.  An error in a part is reported at the part's end. */
void collect_run(const struct inside *in, bool succeeded);
/* While the program stands still: only what it changed in its copy-on-write trees. */
void collect_changes(const struct inside *in);

#endif
