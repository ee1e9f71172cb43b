/* A program of the host that works for us on untrusted bytes: as a job, in whatever isolation the
 * machine has. */
#ifndef LIB_TOOL_JOB_H
#define LIB_TOOL_JOB_H

#include "job/job.h"

struct tool_job {
    const sbr_runtime *rt;
    struct monitor_options options;
    bool writes_own; /* to a directory of ours, by a `rw` volume */
    /* Called several times a second while it runs; may be NULL. */
    void (*tick)(void *context);
    void *tick_context;
    struct collect_part *work_part; /* gets all that it leaves at /work; NULL: nothing is wanted */
};

/* A command without a language.  The caller frees the request, also after an error. */
int tool_job_request(const char *const *words, sbr_request **ret, sbr_error *err) must_check;
/* Paths may hold any character. */
int tool_job_add_volume(sbr_request *req, const char *source, const char *target,
                        enum volume_mode mode, sbr_error *err) must_check;
int tool_job_run(const struct tool_job *tool, const sbr_request *req, sbr_result **ret,
                 sbr_error *err) must_check;
/* Every sandbox has /usr of the host.  `what` begins the sentence: "archives need". */
int tool_job_check(const char *name, const char *what, const char *stage, sbr_error *err)
    must_check;

#endif
