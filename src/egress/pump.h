/* One direction of a connection.  Bytes go from socket to socket through a pipe, without being
 * copied; a pump has a pipe only while bytes are in it, so a hundred idle connections have none. */
#ifndef EGRESS_PUMP_H
#define EGRESS_PUMP_H

#include "egress/egress_internal.h"

struct pump {
    enum direction direction;
    int from, to;
    int pipe[2];  /* -1: none                                      */
    char *copy;   /* buffer instead of a pipe, where there is none */
    size_t start; /* of the rest in `copy`                         */
    size_t held;  /* bytes that `to` has not accepted yet          */
    bool eof;     /* `from` has ended                              */
    bool done;    /* and `to` is shut down                         */
};

enum pump_result {
    PUMP_WAITS,  /* for `from` or `to`                */
    PUMP_MORE,   /* yields to others: call again soon */
    PUMP_BROKEN, /* by either side                    */
    PUMP_FULL,   /* the byte limit is reached         */
};

void pump_init(struct pump *pump, enum direction direction, int from, int to);
enum pump_result pump_move(struct pump *pump, struct egress *egress);
void pump_done(struct pump *pump);

#endif
