/*   Privilege:   an ordinary user of the host, with no capability over it.
 *   Descriptors: the socket and init's ends, until init has them.
 *   (1) The guest starts nothing but init, in namespaces of its own.
 *   (2) It reads no byte of the program and none of its files. */
#include "init/state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/guest_msg.h"

struct guest {
    int socket_fd;
    int fds[FD_MAX_PASSED];
    struct guest_offer offer;
    pid_t init;
    int init_pidfd;
};

/* The guest exits only here. */
static void __attribute__((noreturn)) guest_exit(int status)
{
    _exit(status); /* lint-ok: _exit: the guest has nothing to flush */
}

static void __attribute__((noreturn)) fail(const struct guest *guest, const char *what)
{
    struct guest_answer answer = { 0 };

    err_set_errno(&answer.error, "backend", "inside the container, the first process cannot %s",
                  what);
    (void)fd_send(guest->socket_fd, &answer, sizeof(answer), NULL, 0);
    guest_exit(1);
}

static void receive_offer(struct guest *guest, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t n = 0;

    guest->socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (guest->socket_fd < 0 ||
        connect(guest->socket_fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        dprintf(STDERR_FILENO, "cannot reach the supervisor: %s\n", strerror(errno));
        guest_exit(1);
    }
    if (fd_receive(guest->socket_fd, &guest->offer, sizeof(guest->offer), guest->fds, &n) !=
            (ssize_t)sizeof(guest->offer) ||
        n != N_INIT_FDS)
        fail(guest, "receive its file descriptors");
}

/* The offered ends become 0 to 7.  First copies them above, so that none is overwritten. */
static int arrange(struct guest *guest)
{
    for (int i = 0; i < N_INIT_FDS; i++)
        if ((guest->fds[i] = fcntl(guest->fds[i], F_DUPFD_CLOEXEC, 64)) < 0)
            return -1;
    for (int i = 0; i < N_INIT_FDS; i++)
        if (dup2(guest->fds[i], i) < 0)
            return -1;
    return (int)syscall(SYS_close_range, N_INIT_FDS, ~0U, 0);
}

static int write_map(const struct guest *guest, const char *file, uint32_t inside, uint32_t own)
{
    char path[64], line[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)guest->init, file);
    snprintf(line, sizeof(line), "%u %u 1\n", inside, own);
    return fd_write_small(AT_FDCWD, path, line);
}

/* One user: the guest's own.  A user may map a group only after giving up setgroups. */
static void map_ids(const struct guest *guest)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)guest->init);
    if (fd_write_small(AT_FDCWD, path, "deny") < 0 ||
        write_map(guest, "uid_map", guest->offer.inside_uid, geteuid()) < 0 ||
        write_map(guest, "gid_map", guest->offer.inside_gid, getegid()) < 0)
        fail(guest, "map init's user");
}

/* Everything inside ends with init; the container ends with the guest. */
static void __attribute__((noreturn)) wait_for_init(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    syscall(SYS_close_range, 0, ~0U, 0);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
    guest_exit(0);
}

void guest_enter(const char *path)
{
    struct guest guest = { .socket_fd = -1, .init_pidfd = -1 };
    const struct guest_answer answer = { 0 };
    struct clone_args args = { .flags = CLONE_PIDFD,
                               .pidfd = (uint64_t)(uintptr_t)&guest.init_pidfd,
                               .exit_signal = SIGCHLD };

    receive_offer(&guest, path);
    args.flags |= guest.offer.namespaces;
    guest.init = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (guest.init < 0)
        fail(&guest, "make new namespaces");
    if (guest.init == 0) {
        if (arrange(&guest) < 0)
            guest_exit(1);
        return;
    }
    map_ids(&guest);
    if (fd_send(guest.socket_fd, &answer, sizeof(answer), &guest.init_pidfd, 1) < 0)
        guest_exit(1);
    wait_for_init();
}
