#include "base/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/tree_remove.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends all names, each with its type in front and its NUL. */
static int read_text(DIR *dir, struct buf *text, size_t *ret_n)
{
    const struct dirent *entry;
    char type;

    while (errno = 0, (entry = readdir(dir))) {
        if (tree_is_dots(entry->d_name))
            continue;
        type = (char)entry->d_type;
        if (++*ret_n > LISTING_MAX || buf_add(text, &type, 1) < 0 ||
            buf_add(text, entry->d_name, strlen(entry->d_name) + 1) < 0) {
            errno = *ret_n > LISTING_MAX ? E2BIG : ENOMEM;
            return -1;
        }
    }
    return errno ? -1 : 0;
}

int listing_read_unsorted(int dir_fd, struct listing *ret)
{
    scoped_fd int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    scoped_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct buf text;
    size_t n = 0;

    *ret = (struct listing){ 0 };
    if (!dir)
        return -1;
    (void)take_fd(fd);
    rewinddir(dir); /* the position is shared with `dir_fd` */
    buf_init(&text, SIZE_MAX / 2);
    if (read_text(dir, &text, &n) < 0) {
        buf_done(&text);
        return -1;
    }
    if (n == 0)
        return 0;
    ret->text = buf_take(&text, NULL);
    ret->names = malloc(n * sizeof(*ret->names));
    if (!ret->names)
        return -1;
    for (char *at = ret->text; ret->n < n; at += strlen(at + 1) + 2)
        ret->names[ret->n++] = at + 1;
    return 0;
}

int listing_read(int dir_fd, struct listing *ret)
{
    if (listing_read_unsorted(dir_fd, ret) < 0)
        return -1;
    if (ret->n)
        qsort(ret->names, ret->n, sizeof(*ret->names), compare_names);
    return 0;
}

int listing_read_at(int dir_fd, const char *name, struct listing *ret)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    *ret = (struct listing){ 0 };
    return fd < 0 ? -1 : listing_read(fd, ret);
}

void listing_done(struct listing *listing)
{
    free(listing->names);
    free(listing->text);
    *listing = (struct listing){ 0 };
}
