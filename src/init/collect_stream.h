/* What init writes while it hands files out (wire/collect.h), gathered into large writes and counted against what
 * the supervisor is willing to take. */
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
    uint64_t bytes, sizes, entries; /* that may still come */
    size_t used;
    unsigned char data[STREAM_SIZE];
};

/* Each returns 0 or an errno; EPIPE: nobody wants to know more. */
void collect_stream_init(struct stream *s, const struct plan *plan, struct init_report *report);
/* `name` and `st` may be NULL.  EDQUOT: that would be too many. */
int collect_stream_entry(struct stream *s, struct collect_entry entry, const char *name,
                         const struct stat *st);
int collect_stream_bytes(struct stream *s, const void *data, size_t len);
/* The data of a file from here to `end`, as pieces; reads into the buffer itself. */
int collect_stream_data(struct stream *s, int fd, uint64_t from, uint64_t end);
/* Room for a file is taken: EFBIG: there is none. */
int collect_stream_afford(struct stream *s, uint64_t bytes, uint64_t size);
/* To be called often: shows that there is progress, and hears that it is in vain. */
int collect_stream_tick(struct stream *s);
int collect_stream_flush(struct stream *s);

#endif
