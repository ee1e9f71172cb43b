/* One direction of a connection.  Bytes go from socket to socket through a pipe, without being
 * copied; a pump has a pipe only while bytes are in it, so a hundred idle connections have none. */
#ifndef BASE_PUMP_H
#define BASE_PUMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

/* What both sockets are watched for.  An event is reported only once. */
#define PUMP_EVENTS (EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET)

/* What counts the bytes of all pumps of one direction, and how many may pass in all. */
struct pump_meter {
    _Atomic uint64_t *used;
    uint64_t max; /* UINT64_MAX: no bound */
};

struct pump {
    const struct pump_meter *meter;
    int from, to;
    int pipe[2];  /* -1: none                                      */
    char *copy;   /* buffer instead of a pipe, where there is none */
    size_t start; /* of the rest in `copy`                         */
    int flags;    /* to send it with                               */
    size_t held;  /* bytes that `to` has not accepted yet          */
    bool urgent;  /* urgent bytes may come: EPOLLPRI was reported  */
    bool eof;     /* `from` has ended                              */
    bool done;    /* and `to` is shut down                         */
};

enum pump_result {
    PUMP_WAITS,  /* for `from` or `to`                */
    PUMP_MORE,   /* yields to others: call again soon */
    PUMP_BROKEN, /* by either side                    */
    PUMP_FULL,   /* the byte limit is reached         */
};

void pump_init(struct pump *pump, const struct pump_meter *meter, int from, int to);
/* `events`: those of either socket that led here. */
enum pump_result pump_move(struct pump *pump, uint32_t events);
void pump_done(struct pump *pump);

#endif
