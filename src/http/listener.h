/* The sockets that clients connect to: a unix socket of the user, and TCP. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define LISTENER_PATH_SIZE 108

/* Beside the engine's socket: http.sock. */
int listener_default_path(char path[LISTENER_PATH_SIZE], sbr_error *err) must_check;
/* Mode 0600 in a directory of the user.  Replaces a socket without a listener. */
int listener_open_unix(const char *path, int *ret_fd, sbr_error *err) must_check;
/* ADDRESS:PORT, with brackets around an IPv6 address.  Only loopback, unless `anywhere`. */
int listener_open_tcp(const char *text, bool anywhere, int *ret_fd, sbr_error *err) must_check;
/* Where a TCP socket listens, as text. */
void listener_describe(int fd, char *buf, size_t size);

#endif
