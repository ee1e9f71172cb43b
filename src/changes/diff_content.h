/* The two sides of a changed file, as far as they can be shown. */
#ifndef CHANGES_DIFF_CONTENT_H
#define CHANGES_DIFF_CONTENT_H

#include "changes/node.h"

/* From best to worst. */
enum diff_content_state {
    CONTENT_TEXT,
    CONTENT_BINARY,
    CONTENT_HUGE,
    CONTENT_UNREADABLE,
    CONTENT_CHANGED /* the real file is not the base any more */
};

struct content {
    bool there; /* false: there is nothing on this side */
    enum diff_content_state state;
    char *data; /* of CONTENT_TEXT; the caller frees it */
    size_t len;
};

/* Reads c->path of the real tree, if it has at most `max` bytes (0: no limit). */
void diff_content_before(struct content *ret, int root_fd, const struct change *c, uint64_t max);
/* Reads what was collected: below `content_fd`, in the directory of the change's root. */
void diff_content_after(struct content *ret, int content_fd, const struct change *c, uint64_t max);
/* The number of lines that were read. */
size_t diff_content_lines(const struct content *content);

#endif
