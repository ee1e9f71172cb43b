/* The engine's look at a template that a client sent: plan/blueprint_check.h with this machine's tools, store and features. */
#ifndef JOB_WARM_CHECK_H
#define JOB_WARM_CHECK_H

#include "job/job.h"
#include "wire/engine.h"

/* What a request says of its template: the texts end where they must.  0, or why it is not taken. */
int warm_check(const struct sbr_runtime *rt, const struct plan *template,
               const struct engine_request *request, sbr_error *err) must_check;

#endif
