/* What a kernel that writes its memory works with: its table, and a part for each of two threads.
 * See session_copy.h. */
#ifndef LIVE_SESSION_SAVER_H
#define LIVE_SESSION_SAVER_H

#include "live/session_copy.h"

#define SAVER_MAPS_SIZE (1UL << 20)
#define SAVER_ENTRIES (COPY_PIECE / COPY_PAGE) /* of the page map, at a time */
#define SAVER_PATH_SIZE 4096

struct saver {
    struct copy_header header;
    struct copy_region regions[COPY_REGIONS];
    char paths[COPY_PATHS];
    char maps[SAVER_MAPS_SIZE], maps_again[SAVER_MAPS_SIZE];
    long maps_len;
    char path[SAVER_PATH_SIZE];
    int pagemap;
    uint64_t hidden;
    uint32_t alive;
    uint64_t next; /* address from which on no thread has taken a piece */
    struct part {
        struct saver *saver;
        int pipe;
        unsigned int waits; /* without any progress */
        uint64_t entries[SAVER_ENTRIES];
    } parts[2];
    __attribute__((aligned(16))) char stack[COPY_STACK_SIZE];
};

/* session_table.c: each returns a negative error number when it cannot. */

/* Fills the header and the regions of this process, whose page map is open. */
long session_table_read(struct saver *s);
/* In the child: whether the table that was given is its own. */
bool session_table_is_as_given(struct saver *s);
/* In the child: permits itself to read all that the table names. */
long session_table_show_hidden(const struct saver *s);
/* The entries of the page map from `at` on; how many. */
long session_table_entries(struct part *p, uint64_t at, uint64_t end);
/* Whether the copy would not have this page without us. */
bool session_table_is_own(const struct copy_region *region, uint64_t entry);

/* The mappings of this process, as /proc tells them; see session_copy.h. */
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
