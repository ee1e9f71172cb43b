#include "changes/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"

static bool is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All names behind one another, each with its NUL. */
static int read_text(DIR *dir, struct buf *text, size_t *ret_n)
{
    const struct dirent *entry;

    while (errno = 0, (entry = readdir(dir))) {
        if (is_dots(entry->d_name))
            continue;
        if (buf_add(text, entry->d_name, strlen(entry->d_name) + 1) < 0) {
            errno = ENOMEM;
            return -1;
        }
        ++*ret_n;
    }
    return errno ? -1 : 0;
}

static DIR *open_again(int dir_fd)
{
    scoped_fd int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir)
        (void)take_fd(fd);
    return dir;
}

int listing_read(int dir_fd, struct listing *ret)
{
    scoped_dir DIR *dir = open_again(dir_fd);
    struct buf text;
    size_t n = 0;

    *ret = (struct listing){ 0 };
    if (!dir)
        return -1;
    rewinddir(dir); /* the place is shared with `dir_fd` */
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
    for (char *name = ret->text; ret->n < n; name += strlen(name) + 1)
        ret->names[ret->n++] = name;
    qsort(ret->names, n, sizeof(*ret->names), compare_names);
    return 0;
}

void listing_done(struct listing *listing)
{
    free(listing->names);
    free(listing->text);
    *listing = (struct listing){ 0 };
}
