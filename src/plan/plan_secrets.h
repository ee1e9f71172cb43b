/* What a stage with secrets has inside: placeholders, and trust in the certificates that the way
 * out shows.  Never a value. */
#ifndef PLAN_PLAN_SECRETS_H
#define PLAN_PLAN_SECRETS_H

#include "plan/planner.h"

#define PLAN_SECRETS_ENV_MAX (SECRETS_MAX + 12)

/* Opens the hosts of the secrets; the mode is at least `allow` then. */
int plan_secrets_network(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* True for a path of the host whose place has the run's own trust. */
bool plan_secrets_replace(const struct plan *plan, const char *path);
/* Files of the root, in place of those of the host. */
int plan_secrets_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* Variables; returns how many, or negative. */
int plan_secrets_env(struct plan *plan, const struct plan_input *in,
                     const char *ret[PLAN_SECRETS_ENV_MAX], sbr_error *err) must_check;

#endif
