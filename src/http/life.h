/* The life of a connection: its request, what carries that out, the reply, and the next request.
 *
 * A connection has at most one request that is on its way, and that request at most one execution
 * or thread that it waits for, so one state says how far all three are. */
#ifndef HTTP_LIFE_H
#define HTTP_LIFE_H

#include <stdbool.h>

enum life_state {
    LIFE_NEVER, /* of an empty cell */
    LIFE_IDLE,
    LIFE_RECEIVING, /* the body comes */
    LIFE_REFUSED,   /* the reply is there before the end of the body */
    LIFE_HANDLED,   /* its handler is called */
    LIFE_WAITING,   /* for an execution, a thread or the end of another call */
    LIFE_READY,     /* the reply is there, and is sent after this turn of the loop */
    LIFE_SENDING,   /* the head of the reply was sent */
    LIFE_UPGRADED,
    LIFE_GONE,
    LIFE_STATES
};

enum life_event {
    LIFE_REQUEST, /* its head came */
    LIFE_PIECE,   /* of the body */
    LIFE_WHOLE,   /* nothing more of the request comes */
    LIFE_TURN,    /* the front reads the connection otherwise from now on */
    LIFE_MESSAGE,
    LIFE_WAIT,  /* the handler replies later */
    LIFE_GO_ON, /* what it waited for is there: the handler is called again */
    LIFE_REPLY,
    LIFE_MORE, /* the reply has more to send */
    LIFE_HEAD, /* of the reply was sent */
    LIFE_SENT, /* all of it */
    LIFE_UPGRADE,
    LIFE_END, /* of the connection: by the client, the front, or us */
    LIFE_EVENTS
};

/* False: the event is impossible in this state, which stays. */
bool life_take(enum life_state *state, enum life_event event);
/* Why the event is impossible wherever the table has no row for it. */
const char *life_reason(enum life_event event);

/* A request is there whole, and its reply is not sent yet. */
static inline bool life_is_asked(enum life_state state)
{
    return state >= LIFE_REFUSED && state <= LIFE_SENDING;
}
/* A reply is on its way. */
static inline bool life_is_answered(enum life_state state)
{
    return state == LIFE_READY || state == LIFE_SENDING;
}

#endif
