/* What a session was given when it was made.  Whoever uses it later must be granted as much: a
 * session belongs to its tenant, rights to each of the tenant's tokens. */
#ifndef ADMIT_SESSION_FACTS_H
#define ADMIT_SESSION_FACTS_H

#include <jansson.h>

#include "admit/grant.h"
#include "admit/refusal.h"
#include "config/config.h"
#include "model/request.h"

struct session_facts {
    char token_id[GRANT_TOKEN_SIZE]; /* that it was made with; empty: none */
    char language[128];
    char image[REQUEST_MAX_PATH + 1]; /* empty: the host's own /usr */
    struct limits limits;
    struct network network;
    char secrets[SECRETS_MAX * (SECRET_MAX_NAME + 1) + 1]; /* names, with commas */
    struct network granted; /* its rules that the token names, which are not open to every other */
};

void session_facts_done(struct session_facts *facts);
/* The JSON of a session that `grant` makes by this request; the caller gives it back. */
json_t *session_facts_write(const struct grant *grant, const sbr_request *req);
int session_facts_read(const json_t *value, struct session_facts *ret, sbr_error *err) must_check;

/* A use of the session: a cell, a fork, a restart.  What `config` opens, it opens to all.
 * `language`: of a second kernel; NULL: the session's own.  *timeout_ms is what was asked for (0:
 * the session's own) and becomes what the grant leaves; NULL: no cell.  0 or -1. */
int admit_cell(const struct grant *grant, const struct config *config,
               const struct session_facts *facts, const char *language, uint64_t *timeout_ms,
               struct refusal *ret) must_check;

/* How long a session may live: 0 becomes what the grant leaves, more than that is refused. */
int admit_life(const struct grant *grant, uint64_t *idle_ms, uint64_t *age_ms, struct refusal *ret)
    must_check;

#endif
