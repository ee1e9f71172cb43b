/* Judge0's forms: submissions, their statuses, the ids of languages. */
#ifndef DIALECT_JUDGE0_H
#define DIALECT_JUDGE0_H

#include "dialect/catalog.h"
#include "dialect/translate.h"

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

struct judge0_submission {
    struct link link; /* newest last */
    char token[ENCODING_ID_SIZE];
    struct tenant tenant;
    json_t *row;                 /* its attributes; texts as base64, as Judge0 has them */
    struct execution *execution; /* NULL: it is over */
    struct exchange *waiter;     /* of wait=true; NULL: none */
    bool redirect;               /* stderr into stdout */
    uint64_t ended_us;
    size_t bytes;
};

const char *judge0_status_name(enum judge0_status status);
/* What an id means here; NULL: nothing that this machine has. */
const struct catalog_row *judge0_language(const struct tenant *tenant, json_int_t id);
/* {"id", "name"}; NULL: there is none. */
json_t *judge0_describe_language(const struct tenant *tenant, json_int_t id);
void judge0_languages(struct exchange *x);
void judge0_one_language(struct exchange *x);

/* Our request for the body of a submission, and its row.  NULL: *ret_errors has them by field. */
json_t *judge0_request(const struct server *server, const struct tenant *tenant, const json_t *body,
                       bool base64, json_t *row, json_t **ret_errors);
/* Fills the row from the execution's end. */
void judge0_judge(struct judge0_submission *s, const struct execution *e);

/* NULL: the tenant has none of that token. */
struct judge0_submission *judge0_find(const struct tenant *tenant, const char *token);
/* The list of all; NULL without memory. */
struct link *judge0_all(void);
struct judge0_submission *judge0_add(const struct tenant *tenant);
void judge0_remove(struct judge0_submission *s);
/* The parts of a row that `fields` asks for; NULL with *wrong false: a text is no UTF-8. */
json_t *judge0_show(const struct judge0_submission *s, bool base64, const char *fields);
/* The first name that is none; NULL: all are. */
char *judge0_wrong_field(const char *fields);
void judge0_tick(struct server *server, uint64_t now_us);
void judge0_close(struct server *server);

/* True when the operator allows results to be sent there. */
bool judge0_callback_is_allowed(const struct server *server, const char *url);
/* Sends the row to its callback_url, from a sandbox that reaches that host alone. */
void judge0_call_back(struct server *server, const struct judge0_submission *s);

#endif
