/* One program, run again and again; and what it used over time. */
#ifndef WORK_PROFILE_H
#define WORK_PROFILE_H

#include "work/measure.h"
#include "work/series.h"

struct profile {
    const sbr_profile *how;
    const struct measure_hooks *hooks;
    struct measure program;
    unsigned int repeat, good; /* runs; those that succeeded */
    struct series series;      /* of the last run */
    sbr_job *job;              /* while it runs */
    sbr_error failure;         /* inside an event */
};

/* The caller has set the request of `program` and nothing else.  profile_done comes also after an
 * error; a profile borrows what it is given. */
int profile_run(sbr_runtime *rt, const sbr_profile *how, const struct measure_hooks *hooks,
                struct profile *p, sbr_error *err) must_check;
/* The fields of an object that is open. */
void profile_put_fields(struct jsonw *j, struct profile *p);
void profile_done(struct profile *p);

#endif
