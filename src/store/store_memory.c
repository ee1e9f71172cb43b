/* A cache in memory, for one process: what a run needs when the disk of the cache is full.
 *
 * It lies below a directory of this user in the first of a few places that are in memory, have room
 * and let programs be executed.  Its maker holds a lock; what a killed one left, the next removes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/staging_dir.h"
#include "base/tree_remove.h"
#include "store/store_root.h"

#define LEAST_FREE (8u << 20) /* less is a full disk: a compiled program may not fit */
#define LEAST_MEMORY (64u << 20)
#define TMPFS_KIND 0x01021994

static struct {
    char path[USER_DIR_SIZE]; /* empty: the cache is on the disk */
    char id[ENCODING_ID_SIZE];
    int parent_fd, lock_fd;
} memory;

static bool has_room(const char *path, uint64_t bytes)
{
    struct statvfs st;

    /* Some file systems count no blocks (procfs) or no inodes (btrfs). */
    return statvfs(path, &st) == 0 &&
           (!st.f_blocks || (uint64_t)st.f_bavail * st.f_frsize >= bytes) &&
           (!st.f_files || st.f_favail);
}

bool store_memory_is_needed(void)
{
    char path[STORE_PATH_SIZE];
    sbr_error ignored;

    if (memory.path[0] || store_path(path, sizeof(path), &ignored) < 0)
        return false;
    return access(path, F_OK) == 0 && !has_room(path, LEAST_FREE);
}

bool store_memory_is_used(void)
{
    return memory.path[0];
}

static bool is_suitable(const char *base)
{
    struct statvfs flags;
    struct statfs kind;

    return statfs(base, &kind) == 0 && kind.f_type == TMPFS_KIND && statvfs(base, &flags) == 0 &&
           !(flags.f_flag & (ST_NOEXEC | ST_RDONLY)) && has_room(base, LEAST_MEMORY);
}

/* Every user may make names in some of these places: only a directory of ours will do. */
static int open_parent(const char *base, char *path, size_t size)
{
    scoped_fd int fd = -1;
    struct stat st;

    snprintf(path, size, "%s/sandbox-run-memory-%u", base, (unsigned int)geteuid());
    (void)mkdir(path, 0700);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
        return -1;
    return take_fd(fd);
}

static int make_below(const char *base)
{
    char parent[USER_DIR_SIZE - ENCODING_ID_SIZE - 1];
    scoped_fd int parent_fd = open_parent(base, parent, sizeof(parent));
    int fd;

    if (parent_fd < 0)
        return -1;
    staging_dir_sweep(parent_fd);
    fd = staging_dir_make(parent_fd, memory.id);
    if (fd < 0)
        return -1;
    if (store_root_furnish(fd) < 0) {
        (void)tree_remove(parent_fd, memory.id);
        close(fd);
        return -1;
    }
    snprintf(memory.path, sizeof(memory.path), "%s/%s", parent, memory.id);
    store_root_redirect(memory.path);
    memory.parent_fd = take_fd(parent_fd);
    memory.lock_fd = fd;
    return 0;
}

int store_memory_begin(void)
{
    const char *const places[] = { "/dev/shm", getenv("XDG_RUNTIME_DIR"), "/run", "/tmp" };

    if (memory.path[0])
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (places[i] && places[i][0] == '/' && is_suitable(places[i]) &&
            make_below(places[i]) == 0)
            return 0;
    return -1;
}

void store_memory_end(void)
{
    char *slash = strrchr(memory.path, '/');

    if (!slash)
        return;
    store_root_redirect(NULL);
    (void)tree_remove(memory.parent_fd, memory.id);
    *slash = '\0';
    (void)rmdir(memory.path); /* unless another process has one there */
    memory.path[0] = '\0';
    close(memory.parent_fd);
    close(memory.lock_fd);
}
