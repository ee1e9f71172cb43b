/* The life of a connection: its request, what carries that out, the reply, and the next request.
 * And the life of an execution, which may outlive the request that started it.
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

enum run_state {
    RUN_NEVER,      /* of an empty cell */
    RUN_QUEUED,     /* its program has not begun */
    RUN_CALLED_OFF, /* cancelled before its program began; its job has not ended yet */
    RUN_RUNNING,
    RUN_STOPPING, /* cancelled while its program runs */
    RUN_ENDED,    /* its result is there, and not on record yet */
    RUN_OVER,     /* others may learn of the end */
    RUN_STATES
};

enum run_event {
    RUN_BEGIN,  /* a stage did */
    RUN_WAIT,   /* its first stage waits for the engine */
    RUN_CANCEL, /* by its client, its tenant, or the end of its token */
    RUN_RESULT, /* or the error why there is none */
    RUN_SETTLE, /* the end is on record, or needs no record */
    RUN_EVENTS
};

/* False: the event is impossible in this state, which stays. */
bool life_take(enum life_state *state, enum life_event event);
/* Why the event is impossible wherever the table has no row for it. */
const char *life_reason(enum life_event event);
/* The same two of an execution. */
bool life_take_run(enum run_state *state, enum run_event event);
const char *life_run_reason(enum run_event event);

/* A cancelled run has ended soon; one cancel more ends it at once. */
static inline bool life_is_cancelled(enum run_state state)
{
    return state == RUN_CALLED_OFF || state == RUN_STOPPING;
}
/* The program had begun: nobody is asked to repeat it. */
static inline bool life_has_begun(enum run_state state)
{
    return state >= RUN_RUNNING;
}

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
