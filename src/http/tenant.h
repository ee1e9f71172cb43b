/* Who asks: a name for the engine's queue, what it may do, and how much at most. */
#ifndef HTTP_TENANT_H
#define HTTP_TENANT_H

#include <stdbool.h>

#include "base/text.h"
#include "model/limits.h"
#include "model/network.h"

#define TENANT_NAME_SIZE 33
#define TENANT_TOKEN_ID_SIZE 17
#define TENANT_LANGUAGES_SIZE 256
#define TENANT_HOSTS_SIZE 512
#define TENANT_LOCAL "local" /* the gateway's own user, at its unix socket without a token */

/* Each is one bit of a token's scopes. */
enum tenant_scope {
    SCOPE_NONE = 0, /* a route that needs none still needs to know who asks */
    SCOPE_RUN = 1,
    SCOPE_SESSIONS = 2,
    SCOPE_FILES = 4, /* workspaces and changes */
    SCOPE_METRICS = 8,
    SCOPE_ALL = 15
};

struct tenant {
    char name[TENANT_NAME_SIZE];
    char token_id[TENANT_TOKEN_ID_SIZE]; /* empty: no token, the local user */
    unsigned int scopes;
    struct limits ceilings;                /* only the given ones */
    enum network_mode network;             /* the most that its runs may reach */
    char hosts[TENANT_HOSTS_SIZE];         /* with commas: the only ones; empty: by the mode */
    unsigned int concurrency;              /* runs at once; 0: no bound but the engine's */
    unsigned int per_minute;               /* requests that start something; 0: no bound */
    unsigned int sessions;                 /* at once; 0: no bound */
    char languages[TENANT_LANGUAGES_SIZE]; /* with commas; empty: all */
    bool local;
};

/* Letters, digits, '_' and '-': it becomes a part of names of files. */
bool tenant_is_name(const char *text);
/* NULL for a bit that is none. */
const char *tenant_scope_name(unsigned int scope);
/* A list with commas; 0, or -1 for a word that is none. */
int tenant_parse_scopes(const char *text, unsigned int *ret);
void tenant_init_local(struct tenant *ret);

/* By its name, with or without @VERSION. */
bool tenant_allows_language(const struct tenant *tenant, const char *language);
#define TENANT_OTHER_LANGUAGE                                                                      \
    "the token does not allow this language; ask the operator for one that does"

#endif
