#include "admit/need.h"

#include "job/job_trees.h"
#include "job/job_types.h"
#include "plan/language.h"

static uint64_t memory_of(const sbr_request *req, const struct language *language, enum stage stage)
{
    const struct stage_def *def = stage_def(language, stage);
    struct limits limits;
    sbr_error ignored; /* tests read all languages' files */

    if (!def)
        return req->limits.value[SBR_MEMORY_BYTES];
    return stage_plan_limits(req, def, stage, &limits, &ignored) < 0
               ? 0
               : limits.value[SBR_MEMORY_BYTES];
}

/* Packages by name, or a file of the request that lists some. */
static bool installs(const sbr_request *req, const struct stage_def *install)
{
    if (!install->run.n || req->installs_nothing)
        return false;
    for (size_t i = 0; i < req->n_files; i++)
        for (unsigned int k = 0; k < install->n_manifests; k++)
            if (manifest_is(&install->manifests[k], req->files[i].path) &&
                manifest_asks(&install->manifests[k], req->files[i].data))
                return true;
    return req->deps.n > 0;
}

uint64_t need_memory_of(const sbr_request *req)
{
    const struct language *language = NULL;
    bool stages[N_STAGES] = { false };
    uint64_t most = req->limits.value[SBR_MEMORY_BYTES];
    sbr_error ignored; /* the run says it */

    if (!req->language || language_resolve(req->language, &language, &ignored) < 0)
        return most;
    stages[STAGE_INSTALL] = installs(req, &language->install);
    stages[STAGE_CHECK] = req->check && language->check.run.n;
    stages[STAGE_COMPILE] = !req->kernel && !req->command && language->compile.run.n;
    for (unsigned int i = 0; i < N_STAGES; i++) {
        uint64_t memory = stages[i] ? memory_of(req, language, (enum stage)i) : 0;

        most = memory > most ? memory : most;
    }
    return most;
}

uint64_t need_memory_of_any(const sbr_request *req)
{
    uint64_t most = req->limits.value[SBR_MEMORY_BYTES];
    const struct language *language;

    for (size_t i = 0; (language = language_at(i)); i++)
        for (unsigned int k = 0; k < N_STAGES; k++) {
            uint64_t memory = memory_of(req, language, (enum stage)k);

            most = memory > most ? memory : most;
        }
    return most;
}

uint64_t need_memory_left(const sbr_job *job)
{
    uint64_t most = 0;

    for (size_t i = job->at; i < job->n_todo; i++) {
        uint64_t memory = memory_of(job->req, job->language, job->todo[i]);

        most = memory > most ? memory : most;
    }
    return most;
}

#define KEPT_BYTES ((uint64_t)1 << 30) /* of the output of a run with `keep_output` */

/* Files of runs are memory, but workspaces, kept changes and kept output are not.  `keeps`: how
 * many runs keep their changes, which a workspace does by itself. */
static uint64_t disk_of(const sbr_request *req, uint64_t limit, unsigned int keeps)
{
    return limit * (req->workspace ? 1 : keeps) + (req->keep_output ? KEPT_BYTES : 0);
}

struct need need_of_run(const sbr_request *req)
{
    return (struct need){ .runs = 1,
                          .memory = need_memory_of(req),
                          .disk = disk_of(req, req->limits.value[SBR_DISK_BYTES], req->keep) };
}

struct need need_of_session(const sbr_request *req)
{
    struct need need = need_of_run(req);

    need.runs = 0;
    need.sessions = 1;
    return need;
}

struct need need_of_work(const sbr_request *req, const struct limits *limits, unsigned int keeps)
{
    uint64_t stages = need_memory_of_any(req), own = limits->value[SBR_MEMORY_BYTES];

    return (struct need){ .runs = 1,
                          .memory = own > stages ? own : stages,
                          .disk = disk_of(req, limits->value[SBR_DISK_BYTES],
                                          keeps ? keeps : req->keep) };
}
