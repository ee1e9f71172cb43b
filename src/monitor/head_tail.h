/* The beginning and the end of a stream in bounded memory.  What lies between is counted. */
#ifndef MONITOR_HEAD_TAIL_H
#define MONITOR_HEAD_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/result.h"

struct head_tail {
    /* All bytes, as long as they fit.  Then what is behind the head is a ring of the last ones. */
    struct buf kept;
    size_t head_max, ring_max;
    size_t ring_start; /* of the oldest byte of the ring */
    uint64_t total;
};

void head_tail_init(struct head_tail *both, size_t head_max, size_t tail_max);
void head_tail_done(struct head_tail *both);
/* Where the next `len` bytes can be put without a copy: for head_tail_added, or forgotten.  NULL:
 * there is no room for them. */
char *head_tail_room(struct head_tail *both, size_t len);
void head_tail_added(struct head_tail *both, size_t len);
void head_tail_add(struct head_tail *both, const char *data, size_t len);
/* Everything as `data`, or the head as `data` and the end as `tail`, each cut between two
 * characters of UTF-8.  `goes_on`: bytes that were not added came last, so the end is a cut as
 * well.  Empties the object. */
void head_tail_take(struct head_tail *both, bool goes_on, struct output *ret);
/* Only the end, as `tail`. */
void head_tail_take_tail(struct head_tail *both, struct output *ret);

#endif
