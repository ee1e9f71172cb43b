/* The stream that init writes while it hands out files (wire/collect.h): gathered into large
 * writes, and counted against what the supervisor accepts. */
#ifndef INIT_COLLECT_STREAM_H
#define INIT_COLLECT_STREAM_H

#include <stdbool.h>
#include <sys/stat.h>

#include "plan/plan.h"
#include "wire/collect.h"
#include "wire/control.h"

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

#endif
