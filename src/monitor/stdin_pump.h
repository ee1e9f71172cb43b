/* Feeds the program's stdin, from memory or an fd, as fast as the program reads. */
#ifndef MONITOR_STDIN_PUMP_H
#define MONITOR_STDIN_PUMP_H

#include <stdbool.h>

#include "base/loop.h"

/* Bytes in one turn of the loop: then output, deadlines and cancelling have their turn. */
#define STDIN_PER_TURN ((size_t)512 * 1024)

struct stdin_pump {
    int to;           /* the program's stdin; owned, closed at the end of the input */
    int from;         /* -1: only the memory below */
    const char *data; /* to be written next; borrowed unless it is the buffer */
    size_t len;
    char *buffer;
    bool used;       /* something was taken from the source, and cannot be taken again */
    bool from_waits; /* the source can be waited for; a regular file cannot and need not */
    struct loop_watch source, target;
    struct loop *loop;
};

/* The program reads end-of-file after the end of memory and fd. */
int stdin_pump_start(struct stdin_pump *pump, struct loop *loop, sbr_error *err) must_check;
void stdin_pump_done(struct stdin_pump *pump);

#endif
