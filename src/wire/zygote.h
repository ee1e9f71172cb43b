/* What a factory's zygote is given, and how a worker that waits for its program receives it.
 * The zygote is a language's own runtime with a library of ours in it (src/worker); it never
 * runs a user's program. */
#ifndef WIRE_ZYGOTE_H
#define WIRE_ZYGOTE_H

#include <stdint.h>

/* File descriptors of a zygote at its exec, besides 0, 1 and 2, which are /dev/null. */
enum zygote_fd {
    ZYGOTE_ORDERS = 3, /* SEQPACKET; the zygote exits when it is closed         */
    ZYGOTE_PLAN,       /* the encoded blueprint                                 */
    ZYGOTE_LIBRARY,    /* our library, as a sealed memory file: /proc/self/fd/5 */
    ZYGOTE_WARM,       /* takes one byte when the zygote is warm; closed then   */
    N_ZYGOTE_FDS
};

/* Orders one more worker; carries ZYGOTE_ORDER_FDS file descriptors, then those of the cgroups. */
struct zygote_order {
    uint32_t n_tasks; /* v1: `tasks` files to write "0" to */
    uint32_t group;   /* v2: 1, the cgroup to fork into    */
};

enum zygote_order_fd {
    ZYGOTE_ORDER_INIT, /* pidfd of the sandbox's init, whose namespaces the worker enters */
    ZYGOTE_ORDER_STDIN,
    ZYGOTE_ORDER_STDOUT,
    ZYGOTE_ORDER_STDERR,
    ZYGOTE_ORDER_CONTROL, /* for NEWS_LISTENER, as init sends it    */
    ZYGOTE_ORDER_GO,      /* where the worker waits for its program */
    ZYGOTE_ORDER_FDS
};

/* A worker of a zygote first sends its pid, as its own namespace counts, in four bytes on its `go`
 * socket.  Every driver then sends DRIVER_READY in one byte when it is warm, and reads until end of
 * file (a stream socket; DRIVER_GO for drivers that were executed):
 *
 *   work directory NUL
 *   number of arguments in decimal NUL, each argument NUL    the whole command line of a cold run
 *   number of variables in decimal NUL, each NAME=VALUE NUL  the whole environment
 *
 * The program's files are in place by then, and the driver enters the work directory itself. */
#define DRIVER_GO 3
#define DRIVER_READY 'R'

/* A driver that cannot do what the command line would (options that count only when its runtime
 * starts, for example) sends this and exits; init then executes the command line itself. */
#define DRIVER_CANNOT 'X'

#endif
