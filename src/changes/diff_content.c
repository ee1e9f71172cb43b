#include "changes/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"

#define BINARY_HEAD 8000 /* a NUL in the first bytes makes a file binary, as for git */

static void load_link(struct content *ret, int dir_fd, const char *path)
{
    ret->data = node_link_text(dir_fd, path, &ret->len);
    if (!ret->data)
        ret->state = CONTENT_UNREADABLE;
}

/* A binary file is recognised by its beginning, and not read further. */
static void load_file(struct content *ret, int dir_fd, const char *path, uint64_t max)
{
    struct node_state seen;
    scoped_fd int fd = node_open_file(dir_fd, path, &seen);
    scoped_free char *data = NULL;
    size_t size, head;
    ssize_t len, more;

    ret->state = CONTENT_UNREADABLE;
    if (fd < 0)
        return;
    if ((max && seen.node.size > max) || seen.node.size > SIZE_MAX / 4) {
        ret->state = CONTENT_HUGE;
        return;
    }
    size = (size_t)seen.node.size;
    head = size < BINARY_HEAD ? size : BINARY_HEAD;
    data = malloc(size + 1);
    len = data ? fd_read_full(fd, data, head) : -1;
    if (len < 0)
        return;
    if (memchr(data, '\0', (size_t)len)) {
        ret->state = CONTENT_BINARY;
        return;
    }
    more = fd_read_full(fd, data + len, size - (size_t)len);
    if (more < 0)
        return;
    ret->state = CONTENT_TEXT;
    ret->len = (size_t)len + (size_t)more;
    ret->data = take_ptr(data);
}

static void load(struct content *ret, int dir_fd, const char *path, const struct node *node,
                 uint64_t max)
{
    if (node->kind == NODE_LINK)
        load_link(ret, dir_fd, path);
    else if (max && node->size > max)
        ret->state = CONTENT_HUGE;
    else
        load_file(ret, dir_fd, path, max);
}

/* Compares its identity or, where that differs, its content. */
static bool is_still_the_base(int root_fd, const struct change *c)
{
    char sum[SHA256_HEX_SIZE];
    struct node_state seen;

    if (node_look(root_fd, c->path, &seen) < 0 || seen.node.kind != c->base.kind ||
        seen.node.size != c->base.size)
        return false;
    if (seen.node.mtime_ns == c->base.mtime_ns && seen.ino == c->base_ino &&
        seen.ctime_ns == c->base_ctime_ns)
        return true;
    return c->base_sum[0] && node_sum_at(root_fd, c->path, c->path, sum) == 0 &&
           !strcmp(sum, c->base_sum);
}

void diff_content_before(struct content *ret, int root_fd, const struct change *c, uint64_t max)
{
    *ret = (struct content){ .there = true };
    if (root_fd < 0)
        ret->state = CONTENT_UNREADABLE;
    else if (!is_still_the_base(root_fd, c))
        ret->state = CONTENT_CHANGED;
    else
        load(ret, root_fd, c->path, &c->base, max);
}

void diff_content_after(struct content *ret, int content_fd, const struct change *c, uint64_t max)
{
    scoped_free char *path = text_format("%u/%s", c->root, c->path);

    *ret = (struct content){ .there = true };
    if (path)
        load(ret, content_fd, path, &c->now, max);
    else
        ret->state = CONTENT_UNREADABLE;
}

size_t diff_content_lines(const struct content *content)
{
    const char *at = content->data, *end = at ? at + content->len : NULL;
    size_t n = 0;

    for (; at < end; n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        at = newline ? newline + 1 : end;
    }
    return n;
}
