/* One run that a client asked for: its job in the loop, its events, its result, and who waits.
 *
 * The id is random and belongs to its tenant: no other one learns that it is there. */
#ifndef HTTP_EXECUTION_H
#define HTTP_EXECUTION_H

#include <jansson.h>

#include "base/encoding.h"
#include "http/admission.h"
#include "http/event_log.h"
#include "http/problem.h"
#include "http/response.h"
#include "http/spans.h"
#include "lib/event_lines.h"
#include "model/result.h"

/* What becomes of the run when its client leaves. */
enum execution_mode {
    EXECUTION_WAITED,   /* it is cancelled */
    EXECUTION_WATCHED,  /* the same, and its events are kept */
    EXECUTION_STREAMED, /* it is cancelled, unless a reader comes back soon */
    EXECUTION_QUEUED    /* it goes on */
};

struct execution {
    struct link link; /* of the server's executions */
    struct link live; /* of those that are not over: thousands that are would be passed over */
    char id[ENCODING_ID_SIZE];
    char tenant[TENANT_NAME_SIZE];
    struct server *server;
    enum execution_mode mode;
    sbr_request *req;
    sbr_job *job;   /* NULL: it is over */
    sbr_job *spent; /* is freed after the reply; with its request */
    struct loop_watch watch;
    struct exchange *waiter; /* that gets the result; NULL: none */
    struct link spending;    /* of those that have `spent` */
    struct link streams;     /* that get the events */
    struct link sockets;     /* that also send stdin */
    struct event_lines lines;
    struct event_log log;
    bool keeps_events;
    bool takes_stdin;
    bool cancelled;
    bool began;   /* the program's own stage did */
    bool held;    /* a batch still needs it */
    bool foreign; /* it has no job: another call ends it */
    int stop_fd;  /* an eventfd that stops that call; -1: none; borrowed */
    /* Replies in the form of a dialect; NULL: in our own. */
    void (*form)(const struct execution *e, struct exchange *x);
    void (*ended)(struct execution *e, void *context); /* may be NULL */
    /* stdin has room again; may be NULL. */
    void (*room)(struct execution *e, void *context);
    void *ended_context; /* of both */
    bool is_error;       /* `result` is the error why nothing ran */
    sbr_error err;
    struct response_text *text; /* the result as JSON; NULL: not yet */
    bool opening;               /* a thread has the job */
    json_t *tree;               /* of a large result, while `ended` is called; NULL: none */
    struct output_files files;  /* while `ended` is called: where outputs are on the host */
    char language[32];
    char outcome[24];
    char output_id[ENCODING_ID_SIZE];
    unsigned int queue_before;
    uint64_t created_us; /* since 1970 */
    uint64_t started_us, ended_us;
    uint64_t alone_us;          /* since when a streamed run has no reader; 0: it has one */
    struct admission_need need; /* what is reserved for it */
    struct span_parent trace;
    size_t counted_bytes;
    char key[64];                        /* Idempotency-Key; empty: none */
    char token_id[TENANT_TOKEN_ID_SIZE]; /* that it was started with; empty: none */
    char fingerprint[65];
};

/* Takes the request over, also when it fails. */
int execution_start(struct server *server, const struct tenant *tenant, sbr_request *req,
                    enum execution_mode mode, struct execution **ret, sbr_error *err) must_check;
/* One whose events and end another call brings; NULL without memory. */
struct execution *execution_open(struct server *server, const struct tenant *tenant);
/* One line of JSON, without its newline. */
void execution_note(struct execution *e, const char *line, size_t len);
/* The result as a tree, which the caller gives back. */
json_t *execution_tree(const struct execution *e);
/* The JSON of the result; NULL: not yet. */
static inline const char *execution_result(const struct execution *e)
{
    return e->text ? e->text->bytes : NULL;
}
/* `result` is JSON, which is copied; NULL: *err says why there is none. */
void execution_end(struct execution *e, const char *result, const sbr_error *err);
static inline bool execution_is_over(const struct execution *e)
{
    return !e->job && !e->foreign;
}
/* The header Location of the reply. */
void execution_set_location(const struct execution *e, struct exchange *x);
/* Replies to `x` at the end; the client's leaving cancels the run. */
void execution_wait(struct execution *e, struct exchange *x);
void execution_cancel(struct execution *e);
/* Kills it when it is still running. */
void execution_free(struct execution *e);
/* NULL: this tenant has none of that id. */
struct execution *execution_find(const struct server *server, const struct tenant *tenant,
                                 const char *id);
/* Room for one more run of this tenant, and of all; false: the problem says which is full. */
bool execution_has_room(struct server *server, const struct tenant *tenant,
                        struct problem *problem);
/* Replies with the result, or with the error. */
void execution_reply(const struct execution *e, struct exchange *x);
/* What is known now: {"id", "status", ...}; the caller frees it. */
char *execution_describe(const struct execution *e);
/* Runs of the tenant, or of all (NULL), that have not ended, cells, and calls of its agents. */
unsigned int execution_count(const struct server *server, const char *tenant);
/* Frees what ended runs used; after their replies were sent. */
void execution_tidy(struct server *server);
/* Forgets what is too old or too much.  Cancels runs that lost their readers. */
void execution_tick(struct server *server, uint64_t now_us);

#endif
