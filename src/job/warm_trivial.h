#ifndef JOB_WARM_TRIVIAL_H
#define JOB_WARM_TRIVIAL_H

#include "job/job.h"

/* The blueprint of a request that wants nothing in particular; `language` NULL: of a command.  The
 * caller frees it.  SBR_E_UNSUPPORTED: such a request has none, or not yet. */
int warm_blueprint_for(const sbr_runtime *rt, const char *language, struct plan **ret,
                       char key[SHA256_HEX_SIZE], sbr_error *err) must_check;

#endif
