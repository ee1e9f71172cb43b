/* The two sides of a changed file, as far as people want to see them. */
#ifndef CHANGES_DIFF_CONTENT_H
#define CHANGES_DIFF_CONTENT_H

#include "changes/node.h"

/* The worse come later. */
enum diff_content_state {
    CONTENT_TEXT,
    CONTENT_BINARY,
    CONTENT_HUGE,
    CONTENT_UNREADABLE,
    CONTENT_CHANGED /* the real file is not what it was */
};

struct content {
    bool there; /* false: there is nothing on this side */
    enum diff_content_state state;
    char *data; /* of CONTENT_TEXT; the caller frees it */
    size_t len;
};

/* What the real tree has at c->path; more than `max` bytes are not read (0: no limit). */
void diff_content_before(struct content *ret, int root_fd, const struct change *c, uint64_t max);
/* What was taken from the sandbox: below `content_fd`, in the directory of the change's root. */
void diff_content_after(struct content *ret, int content_fd, const struct change *c, uint64_t max);
/* Of what was read. */
size_t diff_content_lines(const struct content *content);

#endif
