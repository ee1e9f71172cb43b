/* How much of what all callers share a request may use. */
#ifndef ADMIT_NEED_H
#define ADMIT_NEED_H

#include "model/request.h"

struct need {
    unsigned int runs;     /* at once: runs, cells, calls of agents, work on code, commands */
    unsigned int starts;   /* for the rate: how many programs it begins */
    unsigned int sessions; /* also sandboxes of a dialect */
    unsigned int agents;
    uint64_t memory, disk; /* bytes that it may use, and leave */
};

/* The memory of the stage that needs most; workspace, kept changes and kept output. */
struct need need_of_run(const sbr_request *req);
struct need need_of_session(const sbr_request *req);
/* Of work on code with any language that its files may have, and with these limits.  `keeps`: how
 * many of its runs keep their changes, also without `keep`. */
struct need need_of_work(const sbr_request *req, const struct limits *limits, unsigned int keeps);

/* The most memory that a stage of the request may use, as far as the request says: the program, its
 * compiler, the installer of its packages. */
uint64_t need_memory_of(const sbr_request *req);
/* The same for work on code, which finds its languages by the files. */
uint64_t need_memory_of_any(const sbr_request *req);
/* In an event of a stage: the most that this one and those after it may use. */
uint64_t need_memory_left(const sbr_job *job);

#endif
