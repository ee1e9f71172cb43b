#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

int fd_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int fd_open_again(int fd, int flags)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, flags | O_CLOEXEC | O_NOCTTY);
}

int fd_accept(int listener, int flags)
{
    /* cppcheck-suppress nullPointer ; the peer's address is not needed */
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | flags);
}

ssize_t fd_read_full(int fd, void *data, size_t size)
{
    char *p = data;
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, p + len, size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

ssize_t fd_read_small(int dir_fd, const char *path, char *buf, size_t size)
{
    scoped_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t len;

    if (fd < 0)
        return -1;
    len = fd_read_full(fd, buf, size);
    if (len < 0)
        return -1;
    if ((size_t)len == size) {
        errno = EFBIG;
        return -1;
    }
    buf[len] = '\0';
    return len;
}

int fd_write_small(int dir_fd, const char *path, const char *text)
{
    scoped_fd int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return -1;
    return fd_write_all(fd, text, strlen(text));
}

int fd_read_text(int fd, size_t max, char **ret, size_t *ret_len, sbr_error *err)
{
    struct buf text;
    char chunk[16384];
    ssize_t n;

    buf_init(&text, max);
    /* Not after the end of file: a terminal would have to be told a second time. */
    do {
        n = fd_read_full(fd, chunk, sizeof(chunk));
        if (n > 0 && buf_add(&text, chunk, (size_t)n) < 0) {
            buf_done(&text);
            return err_set(err, SBR_E_INVALID, "read", "the input is larger than %zu bytes", max);
        }
    } while (n == (ssize_t)sizeof(chunk));
    if (n < 0) {
        buf_done(&text);
        return err_set_errno(err, "read", "cannot read");
    }
    *ret = buf_take(&text, ret_len);
    return *ret ? 0 : err_set_oom(err, "read");
}

int fd_sealed_memory(const char *name, const void *data, size_t len, unsigned int memfd_flags)
{
    scoped_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | memfd_flags);

    if (fd < 0)
        return -1;
    if (fd_write_all(fd, data, len) < 0)
        return -1;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return -1;
    return take_fd(fd);
}

/* Ancillary data of FD_MAX_PASSED file descriptors, aligned for the kernel. */
union ancillary {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof(int) * FD_MAX_PASSED)];
};

/* File descriptors in flight count for their user, maybe also the program's user,
 * and are compared with the sender's limit of open files.  The program's limit is --open-files;
 * ours is the highest while we send. */
static ssize_t send_above_others(int socket_fd, const struct msghdr *message)
{
    struct rlimit own, most;
    ssize_t n;
    int error = errno;

    if (getrlimit(RLIMIT_NOFILE, &own) < 0)
        return -1;
    most = (struct rlimit){ .rlim_cur = own.rlim_max, .rlim_max = own.rlim_max };
    (void)setrlimit(RLIMIT_NOFILE, &most);
    errno = error;
    n = sendmsg(socket_fd, message, MSG_NOSIGNAL);
    error = errno;
    (void)setrlimit(RLIMIT_NOFILE, &own);
    errno = error;
    return n;
}

int fd_send(int socket_fd, const void *data, size_t len, const int *fds, size_t n_fds)
{
    union ancillary ancillary = { .space = { 0 } };
    struct iovec part = { .iov_base = (void *)data, .iov_len = len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (n_fds > FD_MAX_PASSED) {
        errno = EINVAL;
        return -1;
    }
    if (n_fds) {
        struct cmsghdr *head;

        message.msg_control = ancillary.space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * n_fds);
    }
    if (sendmsg(socket_fd, &message, MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == ETOOMANYREFS && send_above_others(socket_fd, &message) >= 0 ? 0 : -1;
}

ssize_t fd_receive(int socket_fd, void *data, size_t size, int *ret_fds, size_t *ret_n_fds)
{
    union ancillary ancillary;
    struct iovec part = { .iov_base = data, .iov_len = size };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = ancillary.space,
                              .msg_controllen = sizeof(ancillary.space) };
    struct cmsghdr *head;
    ssize_t n;

    do
        n = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    *ret_n_fds = 0;
    if (n < 0)
        return -1;
    head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        *ret_n_fds = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(ret_fds, CMSG_DATA(head), *ret_n_fds * sizeof(int));
    }
    return n;
}

pid_t fd_pid_of(int pidfd)
{
    char path[64], text[512];
    const char *line;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || !(line = strstr(text, "\nPid:")))
        return -1;
    return (pid_t)strtol(line + strlen("\nPid:"), NULL, 10);
}
