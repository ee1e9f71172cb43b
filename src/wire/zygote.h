/* What a nursery's zygote is given, and how one that waits for its program is told.  The zygote is a language's own
 * runtime with a library of ours in it (src/worker); it never runs anything of a user's. */
#ifndef WIRE_ZYGOTE_H
#define WIRE_ZYGOTE_H

#include <stdint.h>

/* Descriptors of a zygote when it is executed, besides 0, 1 and 2, which are /dev/null. */
enum zygote_fd {
    ZYGOTE_ORDERS = 3, /* SEQPACKET; its end is the zygote's end                          */
    ZYGOTE_PLAN,       /* the encoded template                                            */
    ZYGOTE_LIBRARY,    /* our library, as a sealed memory file: /proc/self/fd/5           */
    ZYGOTE_WARM,       /* to write one byte to when it is warm, and to close              */
    N_ZYGOTE_FDS
};

/* One worker more; with ZYGOTE_ORDER_FDS descriptors and then those of the control groups. */
struct zygote_order {
    uint32_t n_tasks; /* v1: descriptors of `tasks` to write "0" to           */
    uint32_t group;   /* v2: 1, and the descriptor of the group to be born in */
};

enum zygote_order_fd {
    ZYGOTE_ORDER_INIT, /* pidfd of the sandbox's init: whose namespaces to enter        */
    ZYGOTE_ORDER_STDIN,
    ZYGOTE_ORDER_STDOUT,
    ZYGOTE_ORDER_STDERR,
    ZYGOTE_ORDER_CONTROL, /* for NEWS_LISTENER, as init sends it                        */
    ZYGOTE_ORDER_GO,      /* where the worker waits for its program                     */
    ZYGOTE_ORDER_FDS
};

/* A worker of a zygote says its pid, as its own namespace counts, in four bytes on its `go` socket before anything else.
 * Every driver then says DRIVER_READY in one byte when it is warm, and reads until end of file (a stream socket; DRIVER_GO
 * for those that were executed):
 *
 *   work directory NUL
 *   number of arguments in decimal NUL, each argument NUL    the whole command line of a run that was not made ahead
 *   number of variables in decimal NUL, each NAME=VALUE NUL  the whole environment
 *
 * The program's files are in place by then, and the work directory is the driver's to enter. */
#define DRIVER_GO 3
#define DRIVER_READY 'R'

/* A driver that cannot do what the command line would (options that only count when its runtime starts, say) answers
 * this and ends; init then executes the command line in its place. */
#define DRIVER_CANNOT 'X'

#endif
