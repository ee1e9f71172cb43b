/* The sockets of the sandbox's network namespace.  Publish can make none itself, so each is used
 * for one connection after the other: disconnected, it is as new. */
#ifndef PUBLISH_INSIDE_SOCKETS_H
#define PUBLISH_INSIDE_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/publishing.h"

enum inside_state { INSIDE_NONE, INSIDE_FREE, INSIDE_USED, INSIDE_CLOSING };

struct inside_socket {
    enum inside_state state;
    bool v6;
    uint64_t since_us; /* when it began to close */
};

struct inside_sockets {
    struct inside_socket items[PUBLISH_SOCKETS]; /* fd PUBLISH_FIRST_SOCKET + index */
    unsigned int n;
    unsigned int n_free4, n_closing;
};

/* Takes the file descriptor over and gives it the next number; 0, or -1 with errno. */
int inside_sockets_add(struct inside_sockets *sockets, int fd, bool v6);
/* After the last: no accepted socket can get one of the numbers that publish may connect. */
int inside_sockets_seal(const struct inside_sockets *sockets);
/* An unconnected socket; -1: all are used. */
int inside_sockets_take(struct inside_sockets *sockets, bool v6);
/* Takes it back.  Unless `at_once`, the program first gets all that was sent to it. */
void inside_sockets_give(struct inside_sockets *sockets, int fd, bool at_once, uint64_t now_us);
/* Looks at those that still send. */
void inside_sockets_tick(struct inside_sockets *sockets, uint64_t now_us);

#endif
