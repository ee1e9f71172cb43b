/* One run: resolve, plan, sandbox, monitor, result. */
#ifndef EXECUTOR_EXECUTOR_H
#define EXECUTOR_EXECUTOR_H

#include "job/request.h"
#include "monitor/monitor.h"
#include "plan/features.h"
#include "plan/planner.h"

struct sbr_runtime {
    struct features features;
};

/* The request must outlive the job; so must the runtime. */
struct sbr_job {
    struct plan *plan;
    struct sandbox box;
    struct monitor monitor;
    bool watching; /* monitor_start was called */
};

/* Request and machine to plan; nothing is started.  The caller frees the plan. */
int executor_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
    must_check;

/* `options` may be NULL: output is kept, stdin is what the request holds. */
int executor_start(const sbr_runtime *rt, const sbr_request *req,
                   const struct monitor_options *options, sbr_job **ret, sbr_error *err) must_check;
void executor_free(sbr_job *job);
/* The same for a process that ends right after: what the kernel frees by itself is left to it. */
void executor_leave(sbr_job *job);

/* The language's real interpreter on this machine, or NULL. */
const char *executor_locate(const struct language *language);

#endif
