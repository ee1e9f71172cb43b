/* IDLE --> RECEIVING --> HANDLED <--> WAITING
 *   ^          |            |            |
 *   |       REFUSED ----> READY <--------'
 *   |                       |
 *   '--- next request --- SENDING --> UPGRADED
 *
 * and from each state to GONE.  Of an execution:
 *
 * QUEUED <-----> RUNNING
 *   |               |   \
 *   |               |    ENDED --> OVER     each of the four may end
 *   v               v   /
 * CALLED_OFF <-> STOPPING
 *
 * A cell holds the state that an event leads to.  Nothing else
 * changes a state, so an event that comes twice or too late is refused here, and by nobody else. */
#include "http/life.h"

static const enum life_state table[LIFE_STATES][LIFE_EVENTS] = {
    /* clang-format off */
    [LIFE_IDLE] = {
        [LIFE_REQUEST] = LIFE_RECEIVING,
        [LIFE_TURN]    = LIFE_IDLE,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_RECEIVING] = {
        [LIFE_PIECE]   = LIFE_RECEIVING,
        [LIFE_WHOLE]   = LIFE_HANDLED,
        [LIFE_REPLY]   = LIFE_REFUSED,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_REFUSED] = {
        [LIFE_WHOLE]   = LIFE_READY,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_HANDLED] = {
        [LIFE_WAIT]    = LIFE_WAITING,
        [LIFE_REPLY]   = LIFE_READY,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_WAITING] = {
        [LIFE_WAIT]    = LIFE_WAITING,   /* one call led to the next */
        [LIFE_GO_ON]   = LIFE_HANDLED,
        [LIFE_REPLY]   = LIFE_READY,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_READY] = {
        [LIFE_MORE]    = LIFE_READY,
        [LIFE_HEAD]    = LIFE_SENDING,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_SENDING] = {
        [LIFE_MORE]    = LIFE_SENDING,
        [LIFE_SENT]    = LIFE_IDLE,
        [LIFE_UPGRADE] = LIFE_UPGRADED,
        [LIFE_END]     = LIFE_GONE,
    },
    [LIFE_UPGRADED] = {
        [LIFE_MESSAGE] = LIFE_UPGRADED,
        [LIFE_END]     = LIFE_GONE,
    },
    /* clang-format on */
};

static const char *const reasons[LIFE_EVENTS] = {
    [LIFE_REQUEST] = "the front waits for each reply before it sends the next request",
    [LIFE_PIECE] = "a body belongs to the request that came before it, and ends once",
    [LIFE_WHOLE] = "a request ends once",
    [LIFE_TURN] = "the front hands a connection on only between two requests",
    [LIFE_MESSAGE] = "only an upgraded connection has messages",
    [LIFE_WAIT] = "only a handler that has not replied can let its request wait",
    [LIFE_GO_ON] = "only a request that waits can go on",
    [LIFE_REPLY] = "the first reply stands, and a client that is gone gets none",
    [LIFE_MORE] = "only a reply has more to send",
    [LIFE_HEAD] = "a reply has one head, which is sent when the request is there whole",
    [LIFE_SENT] = "a reply ends once, after its head",
    [LIFE_UPGRADE] = "the reply to a request upgrades its connection once, after its head",
    [LIFE_END] = "a connection ends once",
};

static const enum run_state runs[RUN_STATES][RUN_EVENTS] = {
    /* clang-format off */
    [RUN_QUEUED] = {
        [RUN_BEGIN]  = RUN_RUNNING,
        [RUN_WAIT]   = RUN_QUEUED,
        [RUN_CANCEL] = RUN_CALLED_OFF,
        [RUN_RESULT] = RUN_ENDED,
    },
    [RUN_CALLED_OFF] = {
        [RUN_BEGIN]  = RUN_STOPPING,     /* the word was on its way */
        [RUN_WAIT]   = RUN_CALLED_OFF,
        [RUN_CANCEL] = RUN_CALLED_OFF,
        [RUN_RESULT] = RUN_ENDED,
    },
    [RUN_RUNNING] = {
        [RUN_BEGIN]  = RUN_RUNNING,      /* each stage of a project that is tested */
        [RUN_WAIT]   = RUN_QUEUED,
        [RUN_CANCEL] = RUN_STOPPING,
        [RUN_RESULT] = RUN_ENDED,
    },
    [RUN_STOPPING] = {
        [RUN_BEGIN]  = RUN_STOPPING,
        [RUN_WAIT]   = RUN_CALLED_OFF,
        [RUN_CANCEL] = RUN_STOPPING,
        [RUN_RESULT] = RUN_ENDED,
    },
    [RUN_ENDED] = {
        [RUN_SETTLE] = RUN_OVER,
    },
    /* clang-format on */
};

static const char *const run_reasons[RUN_EVENTS] = {
    [RUN_BEGIN] = "a program that has ended does not begin again",
    [RUN_WAIT] = "what has ended waits for nothing",
    [RUN_CANCEL] = "what has ended cannot be cancelled, and its job may be gone",
    [RUN_RESULT] = "a run has one result",
    [RUN_SETTLE] = "an end is settled once, after its result",
};

bool life_take(enum life_state *state, enum life_event event)
{
    enum life_state next = table[*state][event];

    if (next == LIFE_NEVER)
        return false;
    *state = next;
    return true;
}

const char *life_reason(enum life_event event)
{
    return reasons[event];
}

bool life_take_run(enum run_state *state, enum run_event event)
{
    enum run_state next = runs[*state][event];

    if (next == RUN_NEVER)
        return false;
    *state = next;
    return true;
}

const char *life_run_reason(enum run_event event)
{
    return run_reasons[event];
}
