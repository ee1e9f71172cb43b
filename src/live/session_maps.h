/* The mappings of this process, as /proc tells them; see session_copy.h. */
#ifndef LIVE_SESSION_MAPS_H
#define LIVE_SESSION_MAPS_H

#include "live/session_copy.h"

struct map_line {
    uint64_t start, end, offset;
    bool readable, writable, executable, shared;
    const char *path; /* not terminated */
    size_t path_len;
};

/* One line of /proc/self/maps; returns where the next one begins, or NULL at the end. */
const char *session_maps_line(const char *text, const char *end, struct map_line *ret);
/* Reads a whole file; -1 when it does not fit. */
long session_maps_read(const char *path, char *to, size_t size);

#endif
