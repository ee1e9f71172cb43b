#include "base/staging_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/lock_file.h"
#include "base/scope.h"
#include "base/tree_remove.h"

#define ATTEMPTS 8

/* Another process may sweep the directory before it is locked: then a new one is made. */
int staging_dir_make(int parent_fd, char id[ENCODING_ID_SIZE])
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        scoped_fd int fd = -1;
        struct stat st;

        if (encoding_random_id(id) < 0 || mkdirat(parent_fd, id, 0700) < 0)
            return -1;
        fd = openat(parent_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && lock_file_try(fd) == LOCK_FILE_HELD && fstat(fd, &st) == 0 &&
            st.st_nlink > 0)
            return take_fd(fd);
        if (fd < 0 && errno != ENOENT) {
            int saved = errno;

            (void)unlinkat(parent_fd, id, AT_REMOVEDIR);
            errno = saved;
            return -1;
        }
    }
    errno = EBUSY;
    return -1;
}

void staging_dir_sweep_one(int dir_fd, const char *name)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 && lock_file_try(fd) == LOCK_FILE_HELD)
        (void)tree_remove(dir_fd, name);
}

void staging_dir_sweep(int parent_fd)
{
    scoped_listing struct listing names = { 0 };

    (void)listing_read_at(parent_fd, ".", &names); /* what cannot be listed is not swept */
    for (size_t i = 0; i < names.n; i++)
        if (encoding_is_hex(names.names[i], ENCODING_ID_SIZE - 1))
            staging_dir_sweep_one(parent_fd, names.names[i]);
}
