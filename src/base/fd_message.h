/* Messages of any length over a socket that keeps the bounds of each: the first one is the length,
 * the others are the bytes.  Unlike memory files, what is in such a socket is never swapped. */
#ifndef BASE_FD_MESSAGE_H
#define BASE_FD_MESSAGE_H

#include <stddef.h>

/* 0, or -1 with errno. */
int fd_message_send(int fd, const void *data, size_t len);
/* At most `max` bytes, into secret memory; NULL with errno, 0 at the end of the stream. */
char *fd_message_receive(int fd, size_t max, size_t *ret_len);

#endif
