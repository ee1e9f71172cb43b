/* A client with a WebSocket to a run: events out, stdin and more in.
 *
 * The front frames; this file bounds and passes on; a manner says what the messages mean.
 * The run may begin after the socket: websocket_attach joins them. */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include <jansson.h>

#include "http/execution.h"
#include "wire/front.h"

#define WEBSOCKET_NORMAL_END 1000 /* RFC 6455 */
#define WEBSOCKET_POLICY 1008

struct websocket;

struct websocket_manner {
    const char *protocol; /* NULL: none is offered */
    /* A message of text, NULL when it is no JSON; may be called before there is a run. */
    void (*text)(struct websocket *w, const json_t *message);
    /* Sends an event of the run in its own form, or nothing. */
    void (*event)(struct websocket *w, const struct event_log_line *line);
    uint16_t end_code; /* of the frame after the last event */
    const char *end_reason;
};

struct websocket {
    struct link link;            /* of the execution's sockets, or of those without one */
    struct execution *execution; /* NULL: it is gone, or there is none yet */
    const struct websocket_manner *manner;
    struct server *server;
    struct grant tenant;
    struct visitor *visitor; /* NULL: the upgrade is not done */
    uint64_t opened_us;
    uint64_t next;                /* number of the event to send */
    struct response_text *result; /* of the event that is being sent; NULL: none */
    struct response_place result_sent;
    struct buf incoming; /* a message of which more comes */
    struct buf pending;  /* stdin that the program has not taken */
    bool ends;           /* stdin, behind what is pending */
    bool attached;       /* it had a run */
    uint16_t goodbye;    /* code of the frame behind all others; 0: not yet */
    const char *goodbye_reason;
    bool said_goodbye;
};

/* Replies to `x` with the upgrade, or with the problem.  `e` may be NULL, then `waiting` is the
 * list of sockets without a run. */
void websocket_open(struct exchange *x, const struct websocket_manner *manner, struct execution *e,
                    struct link *waiting);
void websocket_attach(struct websocket *w, struct execution *e);
/* For manners. */
void websocket_send_event(struct websocket *w, const struct event_log_line *line);
void websocket_say(struct websocket *w, json_t *message); /* which is freed */
void websocket_end(struct websocket *w, uint16_t code, const char *reason);
/* Sends what waits; frees a socket that is over. */
void websocket_turn(struct websocket *w);
/* There is something new in the log, or room for stdin. */
void websocket_wake(struct execution *e);
/* The execution goes, or the gateway ends. */
void websocket_drop_all(struct execution *e);
void websocket_drop_waiting(struct link *waiting);

/* Our own manner (docs/http.md). */
extern const struct websocket_manner execution_socket_manner;

#endif
