/* One direction of a connection.  Bytes go from socket to socket through a pipe, without being copied; a pipe is
 * taken only while there is something in it, so a hundred idle connections have none. */
#ifndef EGRESS_PUMP_H
#define EGRESS_PUMP_H

#include "egress/egress_internal.h"

struct pump {
    enum direction direction;
    int from, to;
    int pipe[2];  /* -1: none is taken                                     */
    char *copy;   /* instead of a pipe, where that cannot be had            */
    size_t start; /* of what is left in the copy                           */
    size_t held;  /* bytes that `to` has not taken yet                     */
    bool eof;     /* `from` has ended                                      */
    bool done;    /* and `to` was told                                     */
};

enum pump_result {
    PUMP_WAITS,  /* for `from` or `to`                             */
    PUMP_MORE,   /* others should have their turn: call again soon */
    PUMP_BROKEN, /* either side                                    */
    PUMP_FULL,   /* a limit of bytes                               */
};

void pump_init(struct pump *pump, enum direction direction, int from, int to);
enum pump_result pump_move(struct pump *pump, struct egress *egress);
void pump_done(struct pump *pump);

#endif
