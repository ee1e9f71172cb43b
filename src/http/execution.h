/* One run that a client asked for: its job in the loop, its events, its result, and who waits.
 *
 * The id is random and belongs to its tenant: no other one learns that it is there. */
#ifndef HTTP_EXECUTION_H
#define HTTP_EXECUTION_H

#include <jansson.h>

#include "admit/ledger.h"
#include "base/buf.h"
#include "base/encoding.h"
#include "base/list.h"
#include "http/joblog.h"
#include "http/life.h"
#include "http/problem.h"
#include "http/response.h"
#include "http/response_text.h"
#include "http/spans.h"
#include "lib/event_lines.h"
#include "model/result.h"

struct server;

/* The events of one run, as lines: what readers resume from by number.
 *
 * The number of bytes is bounded.  The oldest lines go first; a reader that is behind them learns
 * how many it missed.  So a slow reader costs memory up to the bound and never holds a run up. */
struct event_log_line {
    char *text; /* JSON, without its newline */
    size_t len;
    uint64_t before;              /* bytes of all lines before it */
    struct response_text *result; /* stands behind the text, and a brace behind it; NULL: none */
};

struct event_log {
    struct event_log_line *lines; /* a ring of `capacity` */
    size_t capacity, at, n;
    uint64_t first; /* the number of the oldest line */
    size_t bytes, max;
    uint64_t added; /* bytes of all lines so far */
};

void event_log_init(struct event_log *log, size_t max);
void event_log_done(struct event_log *log);
/* Adds the lines of `text`, each with a newline; one that is alone and long is taken out of it.
 * 0, or -1 without memory. */
int event_log_add(struct event_log *log, struct buf *text);
/* The same of lines of which the last is an object up to the value of its last member.  That value
 * is the result of the run, which the log only shares. */
int event_log_add_end(struct event_log *log, struct buf *text, struct response_text *result);
/* The line with this number; NULL: it is gone, or not there yet. */
const struct event_log_line *event_log_get(const struct event_log *log, uint64_t number);
/* Bytes of the lines from this number on; those that are gone do not count. */
size_t event_log_unread(const struct event_log *log, uint64_t number);
/* The number that the next line gets. */
uint64_t event_log_next(const struct event_log *log);

#define EXECUTION_KEPT_US (10 * 60 * 1000000ULL) /* after the end */

/* What becomes of the run when its client leaves. */
enum execution_mode {
    EXECUTION_WAITED,   /* it is cancelled */
    EXECUTION_WATCHED,  /* the same, and its events are kept */
    EXECUTION_STREAMED, /* it is cancelled, unless a reader comes back soon */
    EXECUTION_QUEUED    /* it goes on; it starts with execution_begin, when it is on record */
};

/* Runs that one request started to go on without it; http/batch_jobs.c. */
struct execution_batch {
    struct link link; /* of the server's batches */
    char id[ENCODING_ID_SIZE];
    char tenant[GRANT_TENANT_SIZE];
    char key[64], fingerprint[65]; /* as of an execution */
    uint64_t created_us;
    unsigned int n;     /* its runs */
    unsigned int users; /* those that are still known */
    bool is_over;       /* its runs are kept as long as it from now on */
};

struct joblog_change;

struct execution {
    struct link link; /* of the server's executions */
    struct link live; /* of those that are not over: thousands that are would be passed over */
    char id[ENCODING_ID_SIZE];
    char tenant[GRANT_TENANT_SIZE];
    struct server *server;
    enum execution_mode mode;
    sbr_request *req;
    enum run_state state; /* changed by life_take_run alone */
    sbr_job *job;         /* NULL: it has ended, or another call carries it out */
    sbr_job *spent;       /* is freed after the reply; with its request */
    struct loop_watch watch;
    struct exchange *waiter; /* that gets the result; NULL: none */
    struct link spending;    /* of those that have `spent` */
    struct link streams;     /* that get the events */
    struct link sockets;     /* that also send stdin */
    struct event_lines lines;
    struct event_log log;
    bool keeps_events;
    bool holds;         /* its program waits for its readers */
    uint64_t read_next; /* the event that the first of its readers, now or before, takes next */
    bool takes_stdin;
    bool waits;                      /* the stage that was reported last waits for the engine */
    unsigned int stages;             /* that were reported */
    bool held;                       /* a batch still needs it */
    bool durable;                    /* its end is put on record */
    bool restored;                   /* it was on record when the gateway started */
    struct joblog_change *recording; /* that it waits for; NULL: none */
    char *note;                      /* of its dialect, to be put on record; NULL: none */
    char dialect[16];                /* whose note it has; empty: none */
    struct execution_batch *batch;   /* that it is a part of; NULL: none */
    unsigned int place;              /* in that batch */
    int stop_fd;                     /* an eventfd that stops that call; -1: none; borrowed */
    /* What a dialect makes of the result, for the next two; NULL: nothing.  In a thread when the
     * result is large: it changes nothing that the loop looks at. */
    json_t *(*digest)(const struct execution *e, const json_t *result,
                      const struct output_files *files);
    json_t *digested; /* NULL: not yet, or the next two have it behind them */
    /* Replies in the form of a dialect; NULL: in our own. */
    void (*form)(const struct execution *e, struct exchange *x);
    void (*ended)(struct execution *e, void *context); /* may be NULL */
    /* The end is on record, and others may learn of it; may be NULL. */
    void (*settled)(struct execution *e, void *context);
    /* Changes a request that is begun again; 0 or SBR_E_*; may be NULL. */
    int (*add)(sbr_request *req, void *context, sbr_error *err);
    /* Of a run without a job: it is to wait for its readers, or to go on; may be NULL. */
    void (*hold)(struct execution *e, bool held, void *context);
    void *hold_context;
    /* stdin has room again; may be NULL. */
    void (*room)(struct execution *e, void *context);
    void *ended_context; /* of all four */
    bool is_error;       /* `result` is the error why nothing ran */
    sbr_error err;
    struct response_text *text; /* the result as JSON; NULL: not yet */
    unsigned int users;         /* threads that have it, and its job */
    char language[32];
    char outcome[24];
    char output_id[ENCODING_ID_SIZE];
    unsigned int queue_before;
    uint64_t created_us; /* since 1970 */
    uint64_t started_us, ended_us;
    uint64_t alone_us;     /* since when a streamed run has no reader; 0: it has one */
    struct held *reserved; /* NULL: nothing any more */
    struct span_parent trace;
    size_t counted_bytes;            /* of its events and its result */
    char key[64];                    /* Idempotency-Key; empty: none */
    char token_id[GRANT_TOKEN_SIZE]; /* that it was started with; empty: none */
    char fingerprint[65];
};

/* Takes the request over, also when it fails. */
int execution_start(struct server *server, const struct grant *tenant, sbr_request *req,
                    enum execution_mode mode, const struct need *need, struct execution **ret,
                    struct refusal *refusal) must_check;
/* One whose events and end another call brings, or that is begun again after a restart.  `need`:
 * NULL when the call itself has what it needs.  NULL: the refusal says why. */
struct execution *execution_open(struct server *server, const struct grant *tenant,
                                 const struct need *need, struct refusal *refusal);
/* One line of JSON, without its newline. */
void execution_note(struct execution *e, const char *line, size_t len);
/* `result` is JSON, which is copied; NULL: *err says why there is none. */
void execution_end(struct execution *e, const char *result, const sbr_error *err);
static inline bool execution_is_over(const struct execution *e)
{
    return e->state == RUN_OVER;
}
/* It is over, and nobody reads it or needs it. */
static inline bool execution_may_go(const struct execution *e)
{
    return execution_is_over(e) && !e->held && link_is_alone(&e->streams) &&
           link_is_alone(&e->sockets);
}
/* The program of one that another call carries out has begun. */
void execution_has_begun(struct execution *e);
/* Starts one that is queued. */
void execution_begin(struct execution *e);
/* The same of one that execution_open made, with a request, which it takes over unless the refusal
 * is REFUSED_FULL: there is no room now.  0 or -1. */
int execution_resume(struct execution *e, const struct grant *tenant, sbr_request *req,
                     struct refusal *refusal) must_check;
/* One that was over before the gateway started: its last event. */
void execution_settle(struct execution *e);
/* The header Location of the reply. */
void execution_set_location(const struct execution *e, struct exchange *x);
/* Replies to `x` at the end; the client's leaving cancels the run. */
void execution_wait(struct execution *e, struct exchange *x);
void execution_cancel(struct execution *e);
/* Kills it when it is still running. */
void execution_free(struct execution *e);
/* NULL: this tenant has none of that id. */
struct execution *execution_find(const struct server *server, const struct grant *tenant,
                                 const char *id);
/* A reader takes the event of this number next: the program goes on when enough was read. */
void execution_was_read(struct execution *e, uint64_t next);
/* Holds the program up, or lets it go on, after an event. */
void execution_pace(struct execution *e);
/* A reader left. */
void execution_was_left(struct execution *e);
/* Replies with the result, or with the error. */
void execution_reply(const struct execution *e, struct exchange *x);
/* What is known now, without the result: {"id", "status", ...}; the caller frees it. */
char *execution_describe(const struct execution *e);
/* Replies with that and the result, if it is there. */
void execution_reply_about(const struct execution *e, struct exchange *x, unsigned int status);
/* Frees what ended runs used; after their replies were sent. */
void execution_tidy(struct server *server);
/* Forgets what is too old.  Cancels runs that lost their readers. */
void execution_tick(struct server *server, uint64_t now_us);

/* Runs that are over are kept while there is room. */

/* Where there are too many, forgets the oldest of the tenant that holds most.  Only callbacks of
 * the loop call it, because whoever goes through the executions must not lose one meanwhile. */
void execution_kept_trim(struct server *server);
/* The same, unless too few have come since the last time. */
void execution_kept_look(struct server *server);

/* Trees of a run are opened by a thread: a look at each of their entries takes long. */

/* True: `opened` is called from the loop when a thread has opened the trees.  False: nothing has
 * begun. */
bool execution_trees_are_later(struct execution *e, void (*opened)(struct execution *e));

/* An execution in the record of asynchronous jobs (http/joblog.h). */

/* Called on the loop when the record has it.  The error: why it has not. */
typedef void execution_recorded(struct execution *e, const sbr_error *err);

/* Takes the request over, also when it fails; `done` is called later, unless the execution is gone
 * then.  `insists`: it is tried until it is on record. */
int execution_record_accept(struct execution *e, struct joblog_text request, bool insists,
                            execution_recorded *done, sbr_error *err) must_check;
/* True until the acceptance is on record: nobody may rely on it yet. */
bool execution_record_is_accepting(const struct execution *e);
void execution_record_begin(struct execution *e, execution_recorded *done);
/* `settle` is called when the end is on record. */
void execution_record_end(struct execution *e, void (*settle)(struct execution *e));
/* The note of its dialect is not wanted after a restart. */
void execution_record_drop_note(struct server *server, const char *id);
/* The execution is not wanted any more. */
void execution_record_forget(const struct execution *e);
/* Nothing is called back any more, and what only the record needs is freed. */
void execution_record_drop(struct execution *e);

/* A client that reads the events of an execution as they come: SSE, or lines of JSON. */

/* Replies to `x` with the events from number `first` on. */
void reader_open(struct execution *e, struct exchange *x, const char *type, uint64_t first);
/* There is something new for the readers of this execution. */
void reader_wake(struct execution *e);
/* The execution goes; its readers end. */
void reader_drop_all(struct execution *e);
/* Now and then: readers of SSE that wait get a comment, so that they know the connection lives. */
void reader_tick(struct server *server, uint64_t now_us);

/* What is kept for clients after its end is one pool: a tenant's flood displaces its own results,
 * and nobody else's. */
#define KEPT_MAX 4096                  /* of one pool, of all tenants */
#define KEPT_BYTES ((size_t)256 << 20) /* the same                    */

struct kept {
    const char *tenant; /* NULL: it cannot be forgotten now, and does not count */
    size_t bytes;
};

/* A list of what is kept, oldest first. */
struct kept_pool {
    struct link *list;
    struct kept (*look)(const struct link *at);
    void (*forget)(struct link *at, void *context);
    void *context; /* of forget */
};

/* While the pool has too much, forgets the oldest of the tenant that holds most. */
void kept_share_trim(const struct kept_pool *pool);

#endif
