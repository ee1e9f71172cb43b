#include "base/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"

#define LEAST_READ 4096 /* the kernel refuses room that one name does not fit into */
#define FIRST_ROOM 16384

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* As the kernel writes them: the type stands right before the name. */
struct record {
    uint64_t inode;
    int64_t next;
    uint16_t len;
    unsigned char type;
    char name[];
};

/* Visits the records of `text` from `from` on.  `names` NULL: counts only. */
static size_t take_names(char *text, size_t from, size_t len, char **names)
{
    size_t n = 0;

    for (struct record *at; from < len; from += at->len) {
        at = (struct record *)(void *)(text + from);
        if (tree_is_dots(at->name))
            continue;
        if (names)
            names[n] = at->name;
        n++;
    }
    return n;
}

/* Twice as much room whenever less than one largest read is left. */
static int make_room(struct listing *list, size_t len, size_t *room)
{
    char *grown;

    if (*room - len >= LEAST_READ)
        return 0;
    grown = realloc(list->text, *room ? 2 * *room : FIRST_ROOM);
    if (!grown)
        return -1;
    list->text = grown;
    *room = *room ? 2 * *room : FIRST_ROOM;
    return 0;
}

/* The names stay where the kernel writes them: a tree of 100,000 files is listed at each start of a
 * project.  Returns the length, or -1 with errno. */
static ssize_t read_records(int dir_fd, size_t most, struct listing *list, size_t *ret_n)
{
    size_t len = 0, room = 0;
    long n;

    if (lseek(dir_fd, 0, SEEK_SET) < 0)
        return -1;
    for (;;) {
        if (make_room(list, len, &room) < 0)
            return -1;
        n = syscall(SYS_getdents64, dir_fd, list->text + len, room - len);
        if (n <= 0)
            return n < 0 ? -1 : (ssize_t)len;
        *ret_n += take_names(list->text, len, len + (size_t)n, NULL);
        len += (size_t)n;
        if (*ret_n > most) {
            errno = E2BIG;
            return -1;
        }
    }
}

static int read_names(int dir_fd, size_t most, struct listing *ret)
{
    size_t n = 0;
    ssize_t len;

    *ret = (struct listing){ 0 };
    len = read_records(dir_fd, most, ret, &n);
    if (len < 0)
        return -1;
    if (n == 0)
        return 0;
    ret->names = malloc(n * sizeof(*ret->names));
    if (!ret->names)
        return -1;
    ret->n = take_names(ret->text, 0, (size_t)len, ret->names);
    return 0;
}

int listing_read_unsorted(int dir_fd, struct listing *ret)
{
    return read_names(dir_fd, LISTING_MAX, ret);
}

int listing_read_most(int dir_fd, size_t most, struct listing *ret)
{
    if (read_names(dir_fd, most, ret) < 0)
        return -1;
    if (ret->n)
        qsort(ret->names, ret->n, sizeof(*ret->names), compare_names);
    return 0;
}

int listing_read(int dir_fd, struct listing *ret)
{
    return listing_read_most(dir_fd, LISTING_MAX, ret);
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
