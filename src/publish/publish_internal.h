/* sandbox-run-publish: the state that all its parts share. */
#ifndef PUBLISH_PUBLISH_INTERNAL_H
#define PUBLISH_PUBLISH_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "base/pump.h"
#include "wire/publishing.h"

/* The sockets of the sandbox's network namespace.  Publish can make none itself, so each is used
 * for one connection after the other: disconnected, it is as new. */
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

struct publish_listener {
    struct loop_watch watch;
    struct publisher *publisher;
    uint32_t rule;
    uint16_t inside; /* the port there */
};

struct publisher {
    struct publish_listener listeners[PUBLISH_LISTENERS];
    size_t n_listeners;
    struct pump_meter in[PUBLISH_MAX], out[PUBLISH_MAX]; /* of each rule */
    struct publish_page *page;
    struct inside_sockets sockets;
    struct loop events;
    struct link carries;
    struct pace pace;    /* inactive unless the program has a share         */
    uint64_t looked_us;  /* when the CPU time was read last                 */
    uint64_t started_us; /* CPU time when the sockets came                  */
    bool resting;        /* the listeners pause: every socket inside is used */
    bool starved;        /* out of fds or memory: the same, for a while      */
    bool ending;         /* the program has ended                            */
};

/* Connections: each from a client on the host's loopback to a port of the sandbox's. */

/* Callback of a struct publish_listener. */
void carry_accept(void *context, uint32_t events);
/* Ends what could not be connected in time; lets the listeners go on when they can. */
void carry_tick(struct publisher *publisher, uint64_t now_us);
/* Nothing is connected or about to be. */
bool carry_is_idle(const struct publisher *publisher);
/* Clients have all that the program sent. */
bool carry_all_sent(const struct publisher *publisher);
/* Resets the others, so that no client takes a part for the whole. */
void carry_give_up(struct publisher *publisher);

#endif
