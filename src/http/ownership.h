/* Which tenant a session belongs to: STATE/gateway/ID has the tenant and the session's own id in
 * its first line, and what the session was given (admit/session_facts.h) in its second.
 *
 * A tenant knows 128 random bits, never the session's own id, which is short and of all tenants.
 * The local user owns every session and names it by its own id. */
#ifndef HTTP_OWNERSHIP_H
#define HTTP_OWNERSHIP_H

#include "admit/session_facts.h"
#include "base/encoding.h"

#define OWNERSHIP_ID_SIZE ENCODING_ID_SIZE

struct ownership {
    char id[OWNERSHIP_ID_SIZE];  /* what the tenant calls it */
    char own[OWNERSHIP_ID_SIZE]; /* what the library calls it */
    char tenant[GRANT_TENANT_SIZE];
};

/* For a new session whose `own` is filled; fills `id`.  `facts`: see session_facts_write. */
int ownership_add(const struct grant *tenant, struct ownership *o, const json_t *facts,
                  sbr_error *err) must_check;
/* By the id that the tenant used; SBR_E_NOT_FOUND: this tenant has none. */
int ownership_find(const struct grant *tenant, const char *id, struct ownership *ret,
                   sbr_error *err) must_check;
/* What the session was given.  The local user's have no note, and *ret is empty. */
int ownership_facts(const struct grant *tenant, const char *id, struct session_facts *ret,
                    sbr_error *err) must_check;
/* The same as JSON, for a session that is made of it; NULL: there is none. */
json_t *ownership_facts_json(const char *id);
void ownership_forget(const struct grant *tenant, const struct ownership *o);
/* All of a tenant that is not the local user; of every tenant (NULL). */
typedef void ownership_visit(void *context, const struct ownership *o);
int ownership_each(const struct grant *tenant, ownership_visit *visit, void *context,
                   sbr_error *err) must_check;

/* Kept changes have the id of the library, which has as many random bits.  Without a note they are
 * the local user's alone. */
void ownership_note_changes(const char *tenant, const char *id);
bool ownership_has_changes(const struct grant *tenant, const char *id);
void ownership_forget_changes(const char *id);

#endif
