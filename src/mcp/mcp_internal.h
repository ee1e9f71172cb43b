/* What the files of this folder share: the server, a client, one call of a tool. */
#ifndef MCP_MCP_INTERNAL_H
#define MCP_MCP_INTERNAL_H

#include <jansson.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "mcp/mcp.h"
#include "mcp/mcp_store.h"

struct mcp_call;

/* Those of syslog, least first. */
enum mcp_log_level {
    MCP_LOG_DEBUG,
    MCP_LOG_INFO,
    MCP_LOG_NOTICE,
    MCP_LOG_WARNING,
    MCP_LOG_ERROR,
    MCP_LOG_CRITICAL,
    MCP_LOG_ALERT,
    MCP_LOG_EMERGENCY,
    MCP_N_LOG_LEVELS
};
extern const char *const mcp_log_levels[MCP_N_LOG_LEVELS];
/* -1: there is no such level. */
int mcp_log_level_from_name(const char *name);

struct mcp_server {
    struct mcp_settings settings;
    struct grant grant; /* what tools may ask for */
    json_t *tools;      /* as tools/list returns them; not changed after the start */
    json_t *examples;   /* see mcp_examples.h; NULL: none */
    struct mcp_store store;
    unsigned char key[SHA256_SIZE]; /* of what clients keep for us */
    pthread_mutex_t lock;
    sbr_runtime *runtime; /* NULL until the first run: a client may only want the list of tools */
};

/* A client. */
struct mcp_peer {
    struct mcp_server *server;
    mcp_send *send;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t woken; /* an answer came, or the client left */
    bool left;
    struct mcp_call *calls; /* that run */
    json_t *capabilities;   /* of `initialize`; NULL: none yet */
    uint64_t asked;         /* requests of ours */
    json_t *awaited;        /* their ids */
    json_t *answers;        /* that came: results by id; null for an error */
    char *root;             /* of the client, that is the project; NULL: none */
    bool root_known;        /* it was asked for */
    unsigned int root_changes;
    int log_level; /* enum mcp_log_level; MCP_N_LOG_LEVELS: nothing is logged */
};

/* The era of one message, and what its sender can do. */
struct mcp_era {
    bool stateless;       /* 2026-07-28 or later */
    json_t *capabilities; /* borrowed; NULL: unknown */
    json_t *meta;         /* params._meta, borrowed; NULL: none */
};

/* A run that has ended: the job, and the request that it was made of; both may be NULL. */
struct mcp_spent {
    sbr_job *job;
    sbr_request *req;
};

/* One call of a tool. */
struct mcp_call {
    struct mcp_call *next;
    struct mcp_peer *peer;
    void *context; /* of the message */
    struct mcp_era era;
    json_t *id, *params;
    json_t *arguments; /* checked against the tool's schema */
    /* Under peer->lock: */
    bool cancelled;
    sbr_job *job;         /* runs now; NULL: none */
    sbr_session *session; /* executes a cell now; NULL: none */
    int stop_fd;          /* of work on code, which a write ends; -1, 0: none */
    /* It has ended; freed when the answer is sent, because that removes files. */
    struct mcp_spent spent;
    /* Progress. */
    uint64_t steps, sent_us;
    char line[200]; /* the newest line of output, visible */
    /* The result: */
    json_t *content;    /* blocks */
    json_t *structured; /* NULL: none */
    bool is_error;
    size_t image_bytes;
    enum mcp_code fault; /* in place of a result; MCP_OK: none */
    const char *why;
    json_t *fault_data; /* NULL: none */
    json_t *whole;      /* a result of another kind, in place of the three; NULL: not */
};

typedef void mcp_tool_fn(struct mcp_call *call);

/* mcp_tools.c */
/* Those that the settings leave. */
json_t *mcp_tools_load(const struct mcp_settings *settings, sbr_error *err);
/* NULL: this server has no such tool. */
json_t *mcp_tools_describe(const struct mcp_server *server, const char *name);

/* mcp_schema.c: the part of JSON Schema that our tools use. */
bool mcp_schema_check(const json_t *schema, const json_t *value, const char *what, char why[256]);

/* mcp_call.c */
/* Adds a text block. */
void mcp_call_say(struct mcp_call *call, const char *text, size_t len);
/* The call failed for a reason that a model can do something about. */
void mcp_call_fail(struct mcp_call *call, const char *fmt, ...) format_like_printf(2, 3);
void mcp_call_fail_by(struct mcp_call *call, const sbr_error *err);
/* The same as mcp_call_say with a format. */
void mcp_call_note(struct mcp_call *call, const char *fmt, ...) format_like_printf(2, 3);
/* Sets structuredContent and adds the same as a text block. */
void mcp_call_return(struct mcp_call *call, json_t *structured);
/* Reports progress if the client wants it, at most a few times a second. */
void mcp_call_progress(struct mcp_call *call, const char *message, bool at_once);
/* The newest line of this output is the progress. */
void mcp_call_show_output(struct mcp_call *call, const char *data, size_t len);
/* Takes `data` over. */
void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, json_t *data);
/* Makes the job cancellable, or with NULL no more; false: it is cancelled already. */
bool mcp_call_watch_job(struct mcp_call *call, sbr_job *job);
bool mcp_call_watch_session(struct mcp_call *call, sbr_session *session);
/* The same for an eventfd; -1: no more. */
bool mcp_call_watch_stop(struct mcp_call *call, int stop_fd);
/* Under peer->lock. */
void mcp_call_cancel(struct mcp_call *call);

/* mcp_peer.c */
/* Takes the message over. */
void mcp_peer_send(struct mcp_peer *peer, void *context, json_t *message);
int mcp_peer_log_level(struct mcp_peer *peer, const struct mcp_era *era);

/* mcp_ask.c */
/* A request to the client, which has a connection; takes `params` over.  Its result, which is the
 * caller's; NULL: none came in time. */
json_t *mcp_ask_client(struct mcp_call *call, const char *method, json_t *params,
                       unsigned int patience_s);
/* The same for several requests at once, {KEY: {"method", "params"}}, those that the client can
 * answer: their results by key, which are the caller's.  NULL: the call has its result, or a fault;
 * where each message stands alone the client sends the call once more with the answers.  A call
 * that asks again after them counts rounds, from 0 on. */
json_t *mcp_ask_inputs(struct mcp_call *call, json_t *requests, unsigned int round);
#define MCP_ROUNDS 16
/* The round whose answers the call brings, as it says; mcp_ask_inputs checks that. */
unsigned int mcp_ask_round(const struct mcp_call *call);
/* The call needs what the client cannot do. */
void mcp_ask_lacks(struct mcp_call *call, const char *capability);
/* True: the person agreed.  False: the call has its result. */
bool mcp_ask_person(struct mcp_call *call, const char *question);

/* mcp_roots.c */
/* False: the call has failed. */
bool mcp_roots_use(struct mcp_call *call, sbr_request *req);
/* The client's roots have changed. */
void mcp_roots_forget(struct mcp_peer *peer);

/* mcp_request.c */
/* What the operator allows, narrowed by the call's arguments.  NULL: the call has failed. */
sbr_request *mcp_request_make(struct mcp_call *call, const char *language);
/* The same without arguments, for a command of ours. */
sbr_request *mcp_request_plain(struct mcp_call *call);
/* The memory of a request with these arguments, which nothing has checked yet, in the stage that
 * takes most.  `work`: it finds its languages by the files. */
uint64_t mcp_request_memory(const struct mcp_server *server, const json_t *arguments, bool work);
/* The time limit that the arguments ask for, if any.  False: it is too long; the call failed. */
bool mcp_request_timeout(struct mcp_call *call, uint64_t *ret_ms);
/* How long a session may live: 0 becomes what the operator leaves.  False: the call failed. */
bool mcp_request_life(struct mcp_call *call, uint64_t *idle_ms, uint64_t *age_ms);

/* mcp_changes.c */
/* A run or a session left these changes.  False: there is no room for their id. */
bool mcp_changes_keep(struct mcp_server *server, const char *id);

/* mcp_server.c */
sbr_runtime *mcp_server_runtime(struct mcp_server *server, sbr_error *err);

/* mcp_run.c */
/* The result of a run as JSON; NULL: the call has failed.  Takes the request over. */
json_t *mcp_run_request(struct mcp_call *call, sbr_request *req);
void mcp_run_done(struct mcp_spent *spent);

/* mcp_report.c */
/* Makes the call's result of the JSON of a run's or a cell's. */
void mcp_report(struct mcp_call *call, json_t *result);
/* Adds all that is kept of a stream. */
void mcp_report_stream(const json_t *result, const char *name, struct buf *out);

/* mcp_session.c */
/* The session that the call names; NULL: the call has failed. */
const char *mcp_session_id(struct mcp_call *call);
/* The answer of a session, which is the caller's; NULL: the call has failed. */
json_t *mcp_session_ask(struct mcp_call *call, const char *id, const json_t *request);
void mcp_session_close_all(struct mcp_server *server);

/* mcp_resources.c */
json_t *mcp_resources_list(struct mcp_server *server);
json_t *mcp_resources_templates(const struct mcp_server *server);
/* Ids of runs that begin with this text. */
json_t *mcp_resources_complete(struct mcp_server *server, const char *begin);
json_t *mcp_resources_read(struct mcp_server *server, const char *uri, sbr_error *err);

/* The tools. */
mcp_tool_fn mcp_run_code, mcp_run_command, mcp_verify_code, mcp_create_session, mcp_run_cell,
    mcp_list_sessions, mcp_close_session, mcp_rollback_session, mcp_read_file, mcp_write_file,
    mcp_list_files, mcp_search_files, mcp_show_changes, mcp_apply_changes, mcp_list_languages,
    mcp_explain_denial;

/* What a method of the protocol is, and those about resources, prompts and completion. */
struct mcp_fault {
    enum mcp_code code; /* 0: none */
    char text[sizeof(((sbr_error *)0)->message)];
    json_t *data;           /* NULL: none */
    struct mcp_spent spent; /* of the call, which is over */
};

/* The result, or NULL and a fault; neither: there is nothing to send. */
typedef json_t *mcp_method_fn(struct mcp_peer *peer, const struct mcp_message *message,
                              const struct mcp_era *era, struct mcp_fault *fault);

/* NULL, for the caller to return. */
json_t *mcp_offers_fault(struct mcp_fault *fault, enum mcp_code code, const char *text);
/* True, and a fault, when the client asks for a page: everything is on the first one. */
bool mcp_offers_has_cursor(const struct mcp_message *message, struct mcp_fault *fault);

mcp_method_fn mcp_offers_resources, mcp_offers_templates, mcp_offers_read, mcp_offers_subscribe,
    mcp_offers_prompts, mcp_offers_complete;

/* Output of programs for a reader with little room: a model's context window.  Pure. */

/* A stream as a result has it. */
struct mcp_stream {
    const char *head, *tail; /* tail NULL: head is all */
    size_t head_len, tail_len;
    uint64_t bytes;   /* what the program wrote */
    uint64_t omitted; /* between head and tail */
};

/* Adds the text to `out`: what a terminal obeys, what cannot be seen and what is no UTF-8 becomes
 * \x1b and the like, but for line ends and tabs.  Returns the number of characters. */
size_t mcp_shape_visibly(const char *text, size_t len, struct buf *out);

/* Whether all of it stays as it is, the ends of lines as on Windows included. */
bool mcp_shape_is_visible(const char *text, size_t len);
/* The same with each string of a result; its depth is ours, not the program's. */
void mcp_shape_json(json_t *value);

/* Adds at most about `max` characters: the beginning, the end, and between them how much is left
 * out, and `handle`, which says where it is.  True when something was left out. */
bool mcp_shape_stream(const struct mcp_stream *stream, size_t max, const char *handle,
                      struct buf *out);

/* In a build with test hooks only: what the conformance suite of MCP wants to find in a server
 * besides our own tools, from a file that SANDBOX_RUN_TEST_MCP names.  Results are in the file;
 * all that sends them, asks clients and checks headers is the code of every server. */
#ifdef SBR_TEST_HOOKS
/* Adds the file's tools to those of the server. */
int mcp_examples_load(struct mcp_server *server, sbr_error *err) must_check;
/* NULL: it is none of the file. */
mcp_tool_fn *mcp_examples_tool(const struct mcp_server *server, const char *name);
/* Adds those of the file to a list of "resources", "templates" or "prompts". */
void mcp_examples_list(const struct mcp_server *server, const char *kind, json_t *list);
/* The result of resources/read; NULL: the file has no such resource. */
json_t *mcp_examples_resource(const struct mcp_server *server, const char *uri);
/* Does what the prompt's steps say, and leaves its result in the call; false: there is none. */
bool mcp_examples_prompt(struct mcp_call *call, const char *name);
#else
static inline int mcp_examples_load(struct mcp_server *server, sbr_error *err)
{
    (void)server;
    (void)err;
    return 0;
}
static inline mcp_tool_fn *mcp_examples_tool(const struct mcp_server *server, const char *name)
{
    (void)server;
    (void)name;
    return NULL;
}
static inline void mcp_examples_list(const struct mcp_server *server, const char *kind,
                                     json_t *list)
{
    (void)server;
    (void)kind;
    (void)list;
}
static inline json_t *mcp_examples_resource(const struct mcp_server *server, const char *uri)
{
    (void)server;
    (void)uri;
    return NULL;
}
static inline bool mcp_examples_prompt(struct mcp_call *call, const char *name)
{
    (void)call;
    (void)name;
    return false;
}
#endif

#endif
