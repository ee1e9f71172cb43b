/* Feeds the program's stdin, from memory or an fd, as fast as the program reads. */
#ifndef MONITOR_STDIN_PUMP_H
#define MONITOR_STDIN_PUMP_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/loop.h"

/* Bytes in one turn of the loop: then output, deadlines and cancelling have their turn. */
#define STDIN_PER_TURN ((size_t)512 * 1024)

/* Sees what is typed before the program does, and may take bytes out; the number that is left. */
typedef size_t stdin_tap(void *context, char *data, size_t len);

/* Bytes that a client has written and the program has not read yet. */
#define STDIN_FEED_MAX ((size_t)1 << 20)

/* Input that comes piece by piece, before the program starts and while it runs. */
struct stdin_feed {
    struct buf queue;   /* written, not taken by the pump yet */
    struct buf current; /* what the pump is writing */
    bool is_open;       /* more may come: its end is not the program's end-of-file */
    bool is_gone;       /* the program has closed its stdin, or has ended */
    bool is_short;      /* the last write did not fit: the client waits for room */
    void (*on_room)(void *context);
    void *context;
};

struct stdin_pump {
    int to;                  /* the program's stdin; owned, closed at the end of the input */
    int from;                /* -1: only the memory and the feed below */
    struct stdin_feed *feed; /* borrowed; NULL: none */
    const char *data;        /* to be written next; borrowed unless it is the buffer */
    size_t len;
    char *buffer;
    bool used;   /* something was taken from the source, and cannot be taken again */
    bool is_tty; /* `to` is a terminal, whose end-of-file is a key */
    bool ended;  /* that key was put at the end of the input */
    bool held;   /* the source is not read for now */
    char last;   /* the last byte of the input */
    char eof[2];
    stdin_tap *tap; /* NULL: none */
    void *tap_context;
    bool from_waits; /* the source can be waited for; a regular file cannot and need not */
    bool from_is_socket;
    int reader; /* the source without waiting; owned unless it is `from` */
    struct loop_watch source, target;
    struct loop *loop;
};

/* The program reads end-of-file after the end of memory and fd. */
int stdin_pump_start(struct stdin_pump *pump, struct loop *loop, sbr_error *err) must_check;
/* While held, nothing is read from the source. */
void stdin_pump_hold(struct stdin_pump *pump, bool held);
void stdin_pump_done(struct stdin_pump *pump);
/* The feed has more bytes, or was closed.  Nothing before the start and after the end. */
void stdin_pump_go_on(struct stdin_pump *pump);

void stdin_pump_open_feed(struct stdin_feed *feed);
void stdin_pump_free_feed(struct stdin_feed *feed);
/* How many of the bytes the feed takes: as many as fit. */
size_t stdin_pump_put(struct stdin_feed *feed, const char *data, size_t len);

#endif
