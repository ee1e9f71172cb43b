/* File descriptors: always close-on-exec; whole reads and writes, bounded. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* 0, or -1 with errno: writes everything, through EINTR and short writes. */
int fd_write_all(int fd, const void *data, size_t len);

/* A connection, close-on-exec and with `flags` (SOCK_NONBLOCK or 0), or -1 with errno.  The peer's
 * address is not asked for: its credentials say who it is. */
int fd_accept(int listener, int flags);

/* Opens a pipe or terminal once more, close-on-exec: flags such as O_NONBLOCK are then of our own
 * open file, and not of one that we share.  -1 with errno where that is not allowed. */
int fd_open_again(int fd, int flags);

/* Bytes read until EOF or `size`, or -1 with errno. */
ssize_t fd_read_full(int fd, void *data, size_t size);

/* Reads a small file as text into a caller's buffer; length, or -1 with errno, EFBIG when larger.
 */
ssize_t fd_read_small(int dir_fd, const char *path, char *buf, size_t size);

/* Writes a short text to an existing file (cgroup, procfs): 0, or -1 with errno. */
int fd_write_small(int dir_fd, const char *path, const char *text);

/* Reads at most `max` bytes until EOF.  *ret is NUL-terminated and the caller frees it. */
int fd_read_text(int fd, size_t max, char **ret, size_t *ret_len, sbr_error *err) must_check;

/* A memory file that cannot change any more.  Returns the fd or -1 with errno. */
int fd_sealed_memory(const char *name, const void *data, size_t len, unsigned int memfd_flags);

/* Sends bytes with up to FD_MAX_PASSED file descriptors in one message; 0 or -1 with errno. */
int fd_send(int socket_fd, const void *data, size_t len, const int *fds, size_t n_fds);

/* Receives one message; stores *ret_n_fds file descriptors (close-on-exec).  Bytes, or -1. */
ssize_t fd_receive(int socket_fd, void *data, size_t size, int *ret_fds, size_t *ret_n_fds);

#define FD_MAX_PASSED 48
/* The pid, in our pid namespace, of the process that a pidfd means; -1: it is gone or not ours to
 * see. */
pid_t fd_pid_of(int pidfd);

/* Messages of any length over a socket that keeps the bounds of each: the first one is the length,
 * the others are the bytes.  Unlike memory files, what is in such a socket is never swapped. */

/* 0, or -1 with errno. */
int fd_message_send(int fd, const void *data, size_t len);
/* At most `max` bytes, into secret memory; NULL with errno, 0 at the end of the stream. */
char *fd_message_receive(int fd, size_t max, size_t *ret_len);

#endif
