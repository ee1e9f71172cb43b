/* Judge0's forms: submissions, their statuses, the ids of languages. */
#ifndef DIALECT_JUDGE0_H
#define DIALECT_JUDGE0_H

#include "dialect/catalog.h"
#include "dialect/translate.h"

#define JUDGE0_BATCH_MAX 20

enum judge0_status {
    JUDGE0_QUEUE = 1,
    JUDGE0_PROCESSING,
    JUDGE0_ACCEPTED,
    JUDGE0_WRONG,
    JUDGE0_TIME,
    JUDGE0_COMPILATION,
    JUDGE0_SIGSEGV,
    JUDGE0_SIGXFSZ,
    JUDGE0_SIGFPE,
    JUDGE0_SIGABRT,
    JUDGE0_NZEC,
    JUDGE0_OTHER,
    JUDGE0_INTERNAL,
    JUDGE0_FORMAT,
    JUDGE0_N_STATUSES = JUDGE0_FORMAT
};

struct judge0_acceptance;

struct judge0_submission {
    struct link link; /* newest last */
    char token[ENCODING_ID_SIZE];
    struct grant tenant;
    json_t *row;                          /* its attributes; texts as base64, as Judge0 has them */
    json_t *expected;                     /* of the row, for whoever judges; NULL: nothing is */
    struct execution *execution;          /* NULL: it is over */
    struct execution *settling;           /* it is over, but not on record yet; NULL: none */
    char job[ENCODING_ID_SIZE];           /* the id of its execution, which is on record */
    struct exchange *waiter;              /* of wait=true; NULL: none */
    struct judge0_acceptance *acceptance; /* that waits until it is on record; NULL: none */
    size_t place;                         /* in the answer of that */
    bool redirect;                        /* stderr into stdout */
    bool unsent;                          /* its callback may not be on record, with its end */
    uint64_t ended_us;
    size_t bytes;
};

const char *judge0_status_name(enum judge0_status status);
/* What an id means here; NULL: nothing that this machine has. */
const struct catalog_row *judge0_language(const struct catalog *catalog, const struct grant *tenant,
                                          json_int_t id);
/* {"id", "name"}; NULL: there is none. */
json_t *judge0_describe_language(const struct catalog *catalog, const struct grant *tenant,
                                 json_int_t id);
void judge0_languages(struct exchange *x);
void judge0_one_language(struct exchange *x);
void judge0_statuses(struct exchange *x);
void judge0_about(struct exchange *x);
void judge0_version(struct exchange *x);
void judge0_config_info(struct exchange *x);
void judge0_workers(struct exchange *x);
/* The guard has looked at the token. */
void judge0_authenticate(struct exchange *x);
void judge0_not_here(struct exchange *x);

/* The body of a submission, and whose it is. */
struct judge0_given {
    const struct server *server;
    const struct grant *tenant;
    const json_t *body;
    bool base64; /* its texts are */
};

/* Looks the language up for the row; adds to the errors where there is none. */
void judge0_take_language(const struct judge0_given *given, struct catalog_row *ret_language,
                          json_t *row, json_t **errors);
/* Our request, and the rest of the row.  NULL: *ret_errors has them by field.  In any thread. */
json_t *judge0_request(const struct judge0_given *given, const struct catalog_row *language,
                       json_t *row, json_t **ret_errors);
/* What the execution's end adds to the row, but for its time: a digest. */
json_t *judge0_judge(const struct execution *e, const json_t *result,
                     const struct output_files *files);
/* The same of one that did not begin. */
json_t *judge0_failure(const char *message);

/* Routes and what they share. */
void judge0_create_one(struct exchange *x);
void judge0_create_batch(struct exchange *x);
/* A submission, or a callback, that the gateway before this one had; false: it is none. */
bool judge0_restore(struct execution *e, const json_t *note);
void judge0_show_batch(struct exchange *x);
void judge0_show_all(struct exchange *x);
bool judge0_is_true(const struct exchange *x, const char *name);
/* False: it replied. */
bool judge0_check_fields(struct exchange *x);
bool judge0_check_batch(struct exchange *x, size_t n);
void judge0_reply(struct exchange *x, struct judge0_submission *s, unsigned int status);
void judge0_reply_error(struct exchange *x, unsigned int status, const char *message);

/* NULL: the tenant has none of that token. */
struct judge0_submission *judge0_find(const struct exchange *x, const char *token);
/* The row, which has a token, gets one user more. */
struct judge0_submission *judge0_add(struct server *server, const struct grant *tenant,
                                     json_t *row);
void judge0_remove(struct judge0_submission *s);
/* The same of one that is on record: it does not come back. */
void judge0_forget(struct server *server, struct judge0_submission *s);
/* What is put on record beside its execution; the caller frees it.  In any thread. */
char *judge0_note(const json_t *row);
/* One with a note as above; NULL: the note is none. */
struct judge0_submission *judge0_add_again(const struct execution *e, const json_t *note);
/* The parts of a row that `fields` asks for; NULL: a text is no UTF-8. */
json_t *judge0_show(const json_t *row, bool base64, const char *fields);
/* Of its texts. */
size_t judge0_bytes(const json_t *row);
/* The first name that is none; NULL: all are. */
char *judge0_wrong_field(const char *fields);
void judge0_tick(struct server *server, uint64_t now_us);
void judge0_close(struct server *server);

#define JUDGE0_HOST_SIZE 300

/* "host:port" of a URL of http or https; false: it is none, or has a user. */
bool judge0_callback_host(const char *url, char host[static JUDGE0_HOST_SIZE]);
/* True when the operator allows results to be sent there. */
bool judge0_callback_is_allowed(const struct server *server, const char *url);
/* Sends the row to its callback_url, from a sandbox that reaches that host alone. */
void judge0_call_back(struct server *server, const struct judge0_submission *s);
/* A callback that was on record; false: it is none, or is not allowed now. */
bool judge0_call_back_again(const struct execution *e, const json_t *note);
/* Sends what the gateway before this one was killed before it had it on record. */
void judge0_call_back_unsent(struct server *server);

#endif
