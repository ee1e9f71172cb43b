#include "sandbox/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/walk.h"
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

/* A user namespace exists as long as a process is in it or has it open.  The holder has copies of
 * our fds: outliving us it would keep locks, and init waiting for its orders.  Who was killed
 * before the prctl sends no signal any more. */
static void __attribute__((noreturn)) hold(pid_t parent)
{
    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    while (syscall(SYS_getppid) == parent)
        syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    for (;;)
        syscall(SYS_exit_group, 0);
}

static int start_holder(struct process *holder)
{
    struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_PIDFD,
                               .pidfd = (uint64_t)(uintptr_t)&holder->pidfd };
    pid_t parent = getpid();
    sigset_t all, before;
    long pid;

    holder->pidfd = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the holder must not run the caller's handlers */
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        hold(parent);
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

/* Files of other users stay theirs and are not touched: even a change to the same owner would
 * change the inode's time. */
static int give_entry(void *context, const struct walk_entry *entry, sbr_error *err)
{
    const struct giving *giving = context;
    uid_t uid = entry->st.st_uid == giving->from.uid ? giving->to.uid : (uid_t)-1;
    gid_t gid = entry->st.st_gid == giving->from.gid ? giving->to.gid : (gid_t)-1;

    if (uid == (uid_t)-1 && gid == (gid_t)-1)
        return 0;
    return fchownat(entry->dir_fd, entry->name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0
               ? err_set_errno(err, "idmap", "cannot give '%.200s' away", entry->path)
               : 0;
}

int idmap_chown(const struct ids *ids, int tree_fd)
{
    struct giving giving = { .to = { ids->host_uid, ids->host_gid } };
    const struct walk walk = { .visit = give_entry,
                               .context = &giving,
                               .stage = "idmap",
                               .max_depth = MAX_DEPTH - 1,
                               .max_path = MAX_DEPTH * (NAME_MAX + 1) };
    sbr_error err;
    scoped_fd int top = openat(tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (top < 0 || fstat(top, &st) < 0)
        return -1;
    giving.from = (struct id_pair){ st.st_uid, st.st_gid };
    if (fchown(top, giving.to.uid, giving.to.gid) < 0)
        return -1;
    if (walk_tree(top, &walk, &err) == 0)
        return 0;
    errno = err.sys_errno == EMLINK ? ENAMETOOLONG : err.sys_errno ? err.sys_errno : ENOMEM;
    return -1;
}
