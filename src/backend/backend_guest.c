#include "backend/backend_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/staging_dir.h"
#include "base/tree_remove.h"
#include "wire/guest_msg.h"

#define START_S 60 /* a container that has not started by then does not start any more */

/* The image of init, embedded by the build. */
extern const unsigned char init_image_start[], init_image_end[];

static int furnish_nothing(int fd)
{
    (void)fd;
    return 0;
}

static const struct user_dir_kind containers = {
    .noun = "backend",
    .variable = "SANDBOX_RUN_CONTAINERS",
    .xdg = "SANDBOX_RUN_CONTAINERS",
    .in_home = ".local/share/sandbox-run/containers",
    .in_shared = "containers",
    .when_full = "",
    .forbidden = S_IRWXG | S_IRWXO,
    .furnish = furnish_nothing,
};

/* Through the directory's fd, because the address of a socket is short and the path may not be. */
static int listen_at(int share_fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" GUEST_SOCKET,
             share_fd);
    /* Of mode 0666: the guest has another user, and only the container shows it the directory. */
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        fchmodat(share_fd, GUEST_SOCKET, 0666, 0) < 0 || listen(fd, 1) < 0)
        return -1;
    return take_fd(fd);
}

static int write_image(int share_fd)
{
    scoped_fd int fd = openat(share_fd, GUEST_IMAGE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

    if (fd < 0 || fchmod(fd, 0755) < 0)
        return -1;
    return fd_write_all(fd, init_image_start, (size_t)(init_image_end - init_image_start));
}

int backend_guest_open(struct backend_guest *guest, sbr_error *err)
{
    scoped_fd int share = -1;

    *guest = (struct backend_guest){
        .parent.fd = -1, .dir_fd = -1, .listener = -1, .wait = guest->wait, .maker = guest->maker
    };
    if (user_dir_open(&containers, true, &guest->parent, err) < 0)
        return err->code;
    staging_dir_sweep(guest->parent.fd);
    guest->dir_fd = staging_dir_make(guest->parent.fd, guest->id);
    if (guest->dir_fd < 0)
        return user_dir_fail(&containers, "make a directory in", guest->parent.path, err);
    snprintf(guest->dir, sizeof(guest->dir), "%s/%s", guest->parent.path, guest->id);
    if (mkdirat(guest->dir_fd, BACKEND_SHARE, 0755) == 0 &&
        fchmodat(guest->dir_fd, BACKEND_SHARE, 0755, 0) == 0)
        share = openat(guest->dir_fd, BACKEND_SHARE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (share < 0 || write_image(share) < 0 || (guest->listener = listen_at(share)) < 0)
        return user_dir_fail(&containers, "write to", guest->dir, err);
    return 0;
}

bool backend_guest_is_wanted(const struct sandbox_wait *wait)
{
    return !wait->goes_on || wait->goes_on(wait->context);
}

/* Not of the stage "backend": no other one is to be tried. */
int backend_guest_not_wanted(sbr_error *err)
{
    return err_set(err, SBR_E_BUSY, "cancel", "the run was cancelled while its container was made");
}

static unsigned int start_s(void)
{
#ifdef SBR_TEST_HOOKS
    const char *shorter = getenv("SANDBOX_RUN_TEST_START");

    if (shorter)
        return (unsigned int)strtoul(shorter, NULL, 10);
#endif
    return START_S;
}

/* 1: readable; 0: the maker has ended, and nothing is to be read; negative: neither in time. */
static int await_either(struct backend_guest *guest, int fd, int maker_fd, sbr_error *err)
{
    struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = maker_fd, .events = POLLIN } };
    uint64_t end_us = clock_now_us() + start_s() * 1000000ULL;
    int n;

    while ((n = poll(fds, ARRAY_LEN(fds), SANDBOX_ASK_MS)) <= 0) {
        if (n < 0 && errno != EINTR)
            return err_set_errno(err, "backend", "cannot wait for the container");
        if (!backend_guest_is_wanted(&guest->wait))
            return backend_guest_not_wanted(err);
        if (clock_now_us() > end_us)
            break;
    }
    guest->is_late = n <= 0;
    if (guest->is_late)
        return err_set(err, SBR_E_SYSTEM, "backend",
                       "%.60s did not start the container within %u seconds; it hangs, or it is no "
                       "container runtime",
                       guest->maker, start_s());
    return fds[0].revents & POLLIN ? 1 : 0;
}

/* Only the run's own user has the socket; another one would be a mistake of the maker's. */
static int check_peer(struct backend_guest *guest, int fd, const struct sandbox *box,
                      sbr_error *err)
{
    struct ucred peer = { 0 };
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return err_set_errno(err, "backend", "cannot ask who is in the container");
    guest->pid = peer.pid;
    if (peer.uid == box->ids.host_uid)
        return 0;
    return err_set(err, SBR_E_DENIED, "backend",
                   "the container runs as user %u of this machine, not as %u", peer.uid,
                   box->ids.host_uid);
}

static int offer(int fd, const struct plan *plan, const struct far_channels *far, sbr_error *err)
{
    const struct guest_offer message = {
        /* Init makes these two itself, as in every sandbox. */
        .namespaces = plan->namespaces & ~(uint64_t)(CLONE_NEWCGROUP | CLONE_NEWNET),
        .inside_uid = plan->inside_uid,
        .inside_gid = plan->inside_gid,
    };
    int fds[N_INIT_FDS];

    for (int i = 0; i < N_INIT_FDS; i++) /* every number must be an open fd */
        fds[i] = far->fds[i] >= 0 ? far->fds[i] : far->fds[INIT_REPORT];
    if (fd_send(fd, &message, sizeof(message), fds, N_INIT_FDS) < 0)
        return err_set_errno(err, "backend", "cannot hand init's file descriptors over");
    return 0;
}

static int take_answer(int fd, struct sandbox *box, sbr_error *err)
{
    struct guest_answer answer = { 0 };
    int fds[FD_MAX_PASSED];
    size_t n = 0;
    ssize_t len = fd_receive(fd, &answer, sizeof(answer), fds, &n);

    if (len != (ssize_t)sizeof(answer))
        return err_set(err, SBR_E_SYSTEM, "backend", "the container ended before init started");
    if (answer.error.code < 0) {
        *err = answer.error;
        return err->code;
    }
    if (n != 1)
        return err_set(err, SBR_E_BUG, "backend", "the container gave no process");
    box->init = (struct process){ .pid = fd_pid_of(fds[0]), .pidfd = fds[0] };
    return 0;
}

int backend_guest_await(struct backend_guest *guest, int maker_fd, struct sandbox *box,
                        const struct plan *plan, const struct far_channels *far, sbr_error *err)
{
    scoped_fd int fd = -1;
    int r = await_either(guest, guest->listener, maker_fd, err);

    if (r <= 0)
        return r;
    fd = fd_accept(guest->listener, 0);
    if (fd < 0)
        return err_set_errno(err, "backend", "cannot talk to the container");
    if (check_peer(guest, fd, box, err) < 0 || offer(fd, plan, far, err) < 0)
        return err->code;
    r = await_either(guest, fd, maker_fd, err);
    if (r <= 0)
        return r;
    return take_answer(fd, box, err) < 0 ? err->code : 1;
}

void backend_guest_close(struct backend_guest *guest)
{
    scope_close_fd(&guest->listener);
    if (guest->dir_fd >= 0)
        (void)tree_remove(guest->parent.fd, guest->id);
    scope_close_fd(&guest->dir_fd);
    user_dir_done(&guest->parent);
}
