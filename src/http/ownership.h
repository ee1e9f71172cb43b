/* Which tenant a session belongs to: STATE/gateway/ID has the tenant and the session's own id.
 *
 * A tenant knows 128 random bits, never the session's own id, which is short and of all tenants.
 * The local user owns every session and names it by its own id. */
#ifndef HTTP_OWNERSHIP_H
#define HTTP_OWNERSHIP_H

#include "base/encoding.h"
#include "http/tenant.h"

#define OWNERSHIP_ID_SIZE ENCODING_ID_SIZE

struct ownership {
    char id[OWNERSHIP_ID_SIZE];  /* what the tenant calls it */
    char own[OWNERSHIP_ID_SIZE]; /* what the library calls it */
};

/* For a new session whose `own` is filled; fills `id`. */
int ownership_add(const struct tenant *tenant, struct ownership *o, sbr_error *err) must_check;
/* By the id that the tenant used; SBR_E_NOT_FOUND: this tenant has none. */
int ownership_find(const struct tenant *tenant, const char *id, struct ownership *ret,
                   sbr_error *err) must_check;
void ownership_forget(const struct tenant *tenant, const struct ownership *o);
/* All of a tenant that is not the local user. */
typedef void ownership_visit(void *context, const struct ownership *o);
int ownership_each(const struct tenant *tenant, ownership_visit *visit, void *context,
                   sbr_error *err) must_check;

/* Kept changes have the id of the library, which has as many random bits.  Without a note they are
 * the local user's alone. */
void ownership_note_changes(const char *tenant, const char *id);
bool ownership_has_changes(const struct tenant *tenant, const char *id);
void ownership_forget_changes(const char *id);

#endif
