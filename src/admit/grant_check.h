/* Whether a request stays within a grant.  Pure: nothing is counted, opened or started.
 *
 *   (1) What a request asks for itself and may not have is refused.
 *   (2) What the operator's configuration or policy would give beyond the grant is taken away.
 *   (3) After grant_check the request says its network itself, so that no policy adds to it. */
#ifndef ADMIT_GRANT_CHECK_H
#define ADMIT_GRANT_CHECK_H

#include "admit/grant.h"
#include "admit/refusal.h"
#include "config/config.h"
#include "model/request.h"

/* Applies the configuration to the request and binds it by the grant.  0 or -1. */
int grant_check(const struct grant *grant, const struct config *config, sbr_request *req,
                struct refusal *ret) must_check;
/* Limits that are given must be within the grant; others are lowered to it.  `field` names them. */
int grant_check_limits(const struct grant *grant, struct limits *limits, const char *field,
                       struct refusal *ret) must_check;
/* One limit that a caller asks for under the name `field`. */
int grant_check_limit(const struct grant *grant, enum sbr_limit which, uint64_t value,
                      const char *field, struct refusal *ret) must_check;
/* A rule that the caller wrote: it may be none for an address that only an operator opens, unless
 * a rule of the grant's, or of `config`, covers it. */
int grant_check_host(const struct grant *grant, const struct config *config,
                     const struct host_rule *rule, struct refusal *ret) must_check;
/* All that a caller asks for of a network; marks its rules that open public addresses only. */
int grant_check_network(const struct grant *grant, const struct config *config,
                        struct network *network, struct refusal *ret) must_check;
/* Packages and image of a request. */
int grant_check_names(const struct grant *grant, sbr_request *req, struct refusal *ret) must_check;
int grant_check_language(const struct grant *grant, const char *language, struct refusal *ret)
    must_check;
/* Lowers limits to the ceilings, as if the request had given them: nothing raises them later. */
void grant_give_ceilings(const struct grant *grant, struct limits *limits);
/* The same for the limits of the request, and the ceilings hold in all of its stages. */
void grant_give_limits(const struct grant *grant, sbr_request *req);

#endif
