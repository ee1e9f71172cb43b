/* Bearer tokens: made once, kept as a hash, gone when they are revoked.
 *
 * A token is "sbr_ID_SECRET".  STATE/tokens/ID.json has the BLAKE2b hash of the secret, the tenant
 * and its ceilings.  The gateway looks at the file for each request, so that a revoked token opens
 * nothing from that moment on. */
#ifndef HTTP_TOKEN_H
#define HTTP_TOKEN_H

#include "admit/grant.h"
#include "base/err.h"

#define TOKEN_TEXT_SIZE 96

struct token {
    struct grant tenant; /* token_id is filled by token_create */
    char name[64];       /* what the operator calls it */
    uint64_t expires_s;  /* since 1970; 0: never */
};

/* Tokens whose files were read; of the loop's thread. */
struct token_cache;

struct token_cache *token_cache_new(void);
void token_cache_free(struct token_cache *cache);

/* Once per process, before the others. */
int token_start(sbr_error *err) must_check;
/* `ret_text` is the token itself, which is not kept. */
int token_create(struct token *token, char ret_text[TOKEN_TEXT_SIZE], sbr_error *err) must_check;
/* The grant of a token, by id or name, or of GRANT_LOCAL, as JSON. */
int token_show(const char *which, char **ret, sbr_error *err) must_check;
/* JSON: {"tokens": [...]}, without secrets; the caller frees it. */
int token_list(char **ret, sbr_error *err) must_check;
/* By id, or by name when only one has it.  SBR_E_NOT_FOUND: there is none. */
int token_revoke(const char *which, char ret_id[GRANT_TOKEN_SIZE], sbr_error *err) must_check;
/* Whose token it is; SBR_E_DENIED: it is none, or none any more. */
int token_check(struct token_cache *cache, const char *text, struct grant *ret, sbr_error *err)
    must_check;
/* What the token of this id grants, also when it has expired; false: there is none. */
bool token_grants(struct token_cache *cache, const char *id, struct grant *ret);
/* False: the token of this id was revoked, or has expired. */
bool token_holds(struct token_cache *cache, const char *id);
/* True: the token of this id was revoked.  One that has expired was not. */
bool token_is_revoked(void *cache, const char *id);
/* True: it was revoked, or has expired. */
bool token_is_over(struct token_cache *cache, const char *id);
/* How many tenants have a token that holds. */
unsigned int token_count_tenants(struct token_cache *cache);

/* `sandbox-run token create|list|revoke`, which this program does for the command line. */

/* argv[0] is "token"; prints JSON, or text. */
int token_command(int argc, char **argv, sbr_error *err) must_check;

#endif
