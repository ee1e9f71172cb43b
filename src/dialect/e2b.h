/* E2B's forms.  A sandbox is one run of a command that lives long: an agent of ours (e2b_agent.py),
 * which answers calls about processes, files and contexts by lines of JSON.  What it says is as
 * untrusted as the rest of its sandbox. */
#ifndef DIALECT_E2B_H
#define DIALECT_E2B_H

#include "dialect/translate.h"

#define E2B_TIMEOUT_S 300 /* of a sandbox whose client names none */

struct e2b_sandbox {
    struct link link;
    char id[ENCODING_ID_SIZE];
    struct grant tenant;
    struct server *server;
    struct execution *execution; /* NULL: it is over */
    struct exchange *creator;    /* that waits until it is ready; NULL: none */
    struct link calls;           /* of clients, whose answers are not whole */
    struct buf said;             /* by the agent, without its newline yet */
    struct buf orders;           /* for the agent, that its stdin has no room for */
    json_t *about;               /* templateID, metadata */
    uint64_t next_call;
    uint64_t started_us, end_us; /* since 1970 */
    bool ready, held, killed;
    bool paused, pauses, resumes; /* now; when its time is over; by itself when it is called */
};

/* By id, of this tenant; NULL: it has none, or it is over. */
struct e2b_sandbox *e2b_find(const struct exchange *x, const char *id);
/* Starts it, and replies to `x` when it is ready. */
void e2b_create(struct exchange *x, const json_t *body);
/* The object that create and connect reply with. */
json_t *e2b_describe(const struct exchange *x, const struct e2b_sandbox *s);
void e2b_set_timeout(struct e2b_sandbox *s, json_int_t seconds);
/* All of it stands still, or goes on.  What it has in memory stays there, for a day at most. */
void e2b_pause(struct e2b_sandbox *s);
void e2b_resume(struct e2b_sandbox *s, json_int_t seconds);
void e2b_kill(struct e2b_sandbox *s);
void e2b_free(struct e2b_sandbox *s);
/* Gives the agent what it has room for. */
void e2b_send(struct e2b_sandbox *s);
/* A line for the agent, with its newline. */
void e2b_order(struct e2b_sandbox *s, const char *text, size_t len);
/* Stops or goes on reading what the agent says. */
void e2b_hold(struct e2b_sandbox *s, bool hold);
void e2b_tick(struct server *server, uint64_t now_us);
void e2b_close(struct server *server);

/* Passes the request on to the agent; its answer is the reply. */
void e2b_call(struct exchange *x, struct e2b_sandbox *s);
/* A line of the agent about a call. */
void e2b_answer(struct e2b_sandbox *s, const json_t *line);
/* The sandbox is over: calls that wait end. */
void e2b_end_calls(struct e2b_sandbox *s);

void e2b_refuse(struct exchange *x, unsigned int status, const char *message);

#endif
