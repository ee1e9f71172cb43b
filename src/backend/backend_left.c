#include "backend/backend_http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/fd.h"
#include "base/listing.h"

#define PREFIX "left-"
#define NAME_SIZE (sizeof(PREFIX) + ENCODING_ID_SIZE)
#define SOCKET_SIZE 300
#define LATE_S 600 /* by then an engine has made what it was asked for, or never makes it */

static void name_of(const char *id, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, PREFIX "%.*s", ENCODING_ID_SIZE - 1, id);
}

int backend_left_note(int dir_fd, const char *id, const char *socket, sbr_error *err)
{
    char name[NAME_SIZE];
    scoped_fd int fd = -1;

    name_of(id, name);
    fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, socket, strlen(socket)) < 0)
        return err_set_errno(err, "backend", "cannot note the container");
    return 0;
}

void backend_left_forget(int dir_fd, const char *id)
{
    char name[NAME_SIZE];

    name_of(id, name);
    (void)unlinkat(dir_fd, name, 0);
}

/* True for a note of this engine whose run has no directory any more. */
static bool is_left(int dir_fd, const char *name, const char *socket)
{
    const char *id = name + strlen(PREFIX);
    char noted[SOCKET_SIZE];
    ssize_t n;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !encoding_is_hex(id, ENCODING_ID_SIZE - 1) ||
        faccessat(dir_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return false;
    n = fd_read_small(dir_fd, name, noted, sizeof(noted) - 1);
    noted[n > 0 ? n : 0] = '\0';
    return !strcmp(noted, socket);
}

static bool is_old(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           clock_read_us(CLOCK_REALTIME) / 1000000 > (uint64_t)st.st_mtim.tv_sec + LATE_S;
}

void backend_left_sweep(int dir_fd, const char *socket, backend_left_remove *remove, void *context)
{
    scoped_listing struct listing names = { 0 };

    (void)listing_read_at(dir_fd, ".", &names); /* what cannot be listed is not swept */
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.names[i];
        enum backend_left_end end;

        if (!is_left(dir_fd, name, socket))
            continue;
        end = remove(context, name + strlen(PREFIX));
        if (end == LEFT_REMOVED || (end == LEFT_ABSENT && is_old(dir_fd, name)))
            (void)unlinkat(dir_fd, name, 0);
    }
}
