#include "sandbox/idmap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "confine/mounts.h"

#define MAX_DEPTH 256 /* one open directory per level */

void idmap_init(struct idmap *map, const struct ids *ids)
{
    *map = (struct idmap){ .ids = ids, .namespace_fd = -1 };
}

void idmap_done(struct idmap *map)
{
    scope_close_fd(&map->namespace_fd);
    map->namespace_fd = -1;
}

/* A user namespace exists as long as a process is in it or has it open. */
static int start_holder(struct process *holder)
{
    struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_PIDFD,
                               .pidfd = (uint64_t)(uintptr_t)&holder->pidfd };
    sigset_t all, before;
    long pid;

    holder->pidfd = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the holder must not run the caller's handlers */
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    holder->pid = (pid_t)pid;
    return pid < 0 ? -1 : 0;
}

static void end_holder(struct process *holder)
{
    siginfo_t info;

    syscall(SYS_pidfd_send_signal, holder->pidfd, SIGKILL, NULL, 0);
    waitid(P_PIDFD, (id_t)holder->pidfd, &info, WEXITED | __WALL);
    close(holder->pidfd);
}

static int open_namespace(struct idmap *map, struct id_pair owner)
{
    struct id_pair run = { map->ids->host_uid, map->ids->host_gid };
    struct process holder;
    int sys_errno;

    if (map->namespace_fd >= 0 && map->owner.uid == owner.uid && map->owner.gid == owner.gid)
        return 0;
    idmap_done(map);
    if (start_holder(&holder) < 0)
        return -1;
    map->namespace_fd = ids_namespace(&holder, owner, run);
    map->owner = owner;
    sys_errno = errno;
    end_holder(&holder);
    errno = sys_errno;
    return map->namespace_fd < 0 ? -1 : 0;
}

int idmap_tree(struct idmap *map, int tree_fd, bool below)
{
    struct stat st;

    if (fstat(tree_fd, &st) < 0 ||
        open_namespace(map, (struct id_pair){ st.st_uid, st.st_gid }) < 0)
        return -1;
    return mount_map_owners(tree_fd, map->namespace_fd, below);
}

struct giving {
    struct id_pair from, to;
};

/* Files of other owners stay untouched: even an empty change would update the inode's time. */
static int give_entry(int at, const char *name, const struct stat *st, const struct giving *giving)
{
    uid_t uid = st->st_uid == giving->from.uid ? giving->to.uid : (uid_t)-1;
    gid_t gid = st->st_gid == giving->from.gid ? giving->to.gid : (gid_t)-1;

    if (uid == (uid_t)-1 && gid == (gid_t)-1)
        return 0;
    return fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW);
}

/* Takes ownership of `fd`.  No other process knows the tree yet. */
static int give_level(int fd, const struct giving *giving, int depth)
{
    scoped_dir DIR *dir = fd >= 0 && depth > 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!dir) {
        scope_close_fd(&fd);
        errno = depth > 0 ? errno : ENAMETOOLONG;
        return -1;
    }
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        struct stat st;

        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            give_entry(dirfd(dir), name, &st, giving) < 0)
            return -1;
        if (S_ISDIR(st.st_mode) &&
            give_level(openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                       giving, depth - 1) < 0)
            return -1;
    }
    return 0;
}

int idmap_chown(const struct ids *ids, int tree_fd)
{
    struct giving giving = { .to = { ids->host_uid, ids->host_gid } };
    scoped_fd int top = openat(tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (top < 0 || fstat(top, &st) < 0)
        return -1;
    giving.from = (struct id_pair){ st.st_uid, st.st_gid };
    if (fchown(top, giving.to.uid, giving.to.gid) < 0)
        return -1;
    return give_level(take_fd(top), &giving, MAX_DEPTH);
}
