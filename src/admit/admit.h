/* The one door: what a caller sends becomes a request that may run, or a refusal.  Nobody else
 * makes requests of what clients send; tests/lint/doors.py holds that. */
#ifndef ADMIT_ADMIT_H
#define ADMIT_ADMIT_H

#include <jansson.h>

#include "admit/grant.h"
#include "admit/ledger.h"
#include "admit/refusal.h"
#include "config/config.h"
#include "model/request.h"

struct request_field;

/* What all callers of one gateway ask beside their grants. */
struct admit_door {
    const struct config *config;
    struct ledger *ledger;
    /* A copy of the body in which names of roots are paths; NULL: the refusal says why. */
    json_t *(*resolve)(const void *context, const struct grant *grant, const json_t *body,
                       struct refusal *ret);
    const void *context;
};

/* A body in JSON, checked and bound; the caller frees the request.  0 or -1. */
int admit_request(const struct admit_door *door, const struct grant *grant, const json_t *body,
                  sbr_request **ret, struct refusal *refusal) must_check;
/* What commands of ours and tools of an agent begin with: the configuration within the grant, and a
 * workspace (NULL: none).  The caller frees the request.  0 or -1. */
int admit_base(const struct admit_door *door, const struct grant *grant, const char *workspace,
               sbr_request **ret, struct refusal *refusal) must_check;
/* The tenant has this workspace, or may have one more, which is made at once.  0 or -1. */
int admit_workspace(struct ledger *ledger, const struct grant *grant, const sbr_request *req,
                    struct refusal *refusal) must_check;

/* Tools of an agent: `base`, which is within the grant, narrowed by arguments of a call. */
int admit_tool_begin(const sbr_request *base, const char *language, sbr_request **ret,
                     sbr_error *err) must_check;
/* The arguments that are fields of a request.  0 or -1; a refusal names the argument. */
int admit_tool(const struct grant *grant, const sbr_request *base, const json_t *arguments,
               sbr_request *req, struct refusal *refusal) must_check;
/* One limit, under the name of its argument. */
int admit_tool_limit(const struct grant *grant, sbr_request *req, enum sbr_limit which,
                     uint64_t value, const char *argument, struct refusal *refusal) must_check;

/* Which fields of a request in JSON a caller on another machine may set, and to what kind of
 * value: paths of the host, programs of the host and weaker isolation are the operator's. */

/* One of them.  0, or -1 with the field. */
int admit_field(const struct grant *grant, const struct request_field *field, const json_t *value,
                struct refusal *fault) must_check;
/* All of a body, which may have others: its reader refuses them.  0, or -1 with the field. */
int admit_fields(const struct grant *grant, const json_t *body, struct refusal *fault) must_check;

#endif
