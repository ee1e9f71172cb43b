/* What a caller may ask for: pure data, made of a token, of the operator's options, or for the
 * local user, and printed as JSON.  Whether a request stays within it is decided by
 * admit/grant_check.h, how much is used already by admit/ledger.h. */
#ifndef ADMIT_GRANT_H
#define ADMIT_GRANT_H

#include <stdbool.h>

#include "base/text.h"
#include "model/limits.h"
#include "model/network.h"

struct sbr_request;

#define GRANT_TENANT_SIZE 33
#define GRANT_TOKEN_SIZE 17
#define GRANT_LIST_SIZE 256
#define GRANT_HOSTS_SIZE 512
#define GRANT_LOCAL "local" /* the gateway's own user, at its unix socket without a token */
/* Of sessions of a token that names no other bound. */
#define GRANT_IDLE_MS ((uint64_t)60 * 60 * 1000)
#define GRANT_AGE_MS ((uint64_t)24 * 60 * 60 * 1000)
#define GRANT_WORKSPACES 100
#define GRANT_TOOL_MS ((uint64_t)300000) /* of a call of a tool where the operator names no time */
#define GRANT_WORKSPACE_BYTES ((uint64_t)10 << 30)

/* Each is one bit of a token's scopes. */
enum grant_scope {
    SCOPE_NONE = 0, /* a route that needs none still needs to know who asks */
    SCOPE_RUN = 1,
    SCOPE_SESSIONS = 2,
    SCOPE_FILES = 4, /* workspaces, roots and changes */
    SCOPE_METRICS = 8,
    SCOPE_ALL = 15
};

struct grant {
    char name[GRANT_TENANT_SIZE];    /* of the tenant */
    char token_id[GRANT_TOKEN_SIZE]; /* empty: no token, the local user */
    unsigned int scopes;
    struct limits ceilings;          /* only the given ones */
    enum network_mode network;       /* the most that its runs may reach */
    char hosts[GRANT_HOSTS_SIZE];    /* with commas: the only ones; empty: by the mode */
    const struct network *own;       /* the same of the operator's options; NULL: none; borrowed */
    unsigned int concurrency;        /* runs at once; 0: no bound but the engine's */
    unsigned int per_minute;         /* requests that start something; 0: no bound */
    unsigned int sessions;           /* at once; 0: no bound */
    uint64_t idle_ms, age_ms;        /* of a session, at most; 0: no bound */
    unsigned int workspaces;         /* at once; 0: no bound */
    uint64_t workspace_bytes;        /* of all together; 0: no bound */
    char languages[GRANT_LIST_SIZE]; /* with commas; empty: all */
    char images[GRANT_LIST_SIZE];    /* the same; NAME or NAME:* for every tag of it */
    char secrets[GRANT_LIST_SIZE];   /* with commas: those of the configuration that it may name */
    bool packages;                   /* it may install some */
    bool local;                      /* nothing of the above holds but the scopes */
};

/* Letters, digits, '_' and '-': it becomes a part of names of files. */
bool grant_is_tenant(const char *text);
/* NULL for a bit that is none. */
const char *grant_scope_name(unsigned int scope);
/* A list with commas; 0, or -1 for a word that is none. */
int grant_parse_scopes(const char *text, unsigned int *ret);
/* Everything. */
void grant_init_local(struct grant *ret);
/* What a new token has, before its options: no network. */
void grant_init_token(struct grant *ret);

/* By its name or an alias of it, with or without @VERSION; `command` for arguments alone. */
bool grant_has_language(const struct grant *grant, const char *language);
/* True when all that the rule opens is opened by a rule of the grant's own. */
bool grant_names_host(const struct grant *grant, const struct host_rule *rule);
bool grant_has_image(const struct grant *grant, const char *image);
/* What tools of an agent may ask for: the grant, and where it names no limit, as much as `base`.
 * `grant` NULL: the operator's options, which are in `base`, are all that there is. */
void grant_of_tools(const struct grant *grant, const struct sbr_request *base, struct grant *ret);
/* The widest mode that a request may name: with a list of hosts it is no more than `allow`. */
enum network_mode grant_widest(const struct grant *grant);
/* What a limit may be at most; LIMIT_NONE: nothing bounds it. */
uint64_t grant_most(const struct grant *grant, enum sbr_limit which);

#endif
