/* The engine's check of a blueprint that a client sent: plan/blueprint.h with this machine's
 * tools, store and features. */
#ifndef JOB_WARM_CHECK_H
#define JOB_WARM_CHECK_H

#include "job/job_types.h"

/* 0, or why the engine does not take it.  The texts of the request end in NUL. */
int warm_check(const struct sbr_runtime *rt, const struct plan *blueprint,
               const struct engine_request *request, sbr_error *err) must_check;

#endif
