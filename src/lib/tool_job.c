#include "lib/tool_job.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 100
#define MAX_SAID ((uint64_t)4 << 20) /* bytes of its messages */

int tool_job_check(const char *name, const char *what, const char *stage, sbr_error *err)
{
    static const char *const dirs[] = { "/usr/local/bin", "/usr/bin", "/bin" };
    char path[64];

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
        if (access(path, X_OK) == 0)
            return 0;
    }
    return err_set(err, SBR_E_UNSUPPORTED, stage,
                   "%s the program '%s', which is not in /usr/bin; install it", what, name);
}

int tool_job_request(const char *const *words, sbr_request **ret, sbr_error *err)
{
    struct limits *limits;

    if (request_new(NULL, NULL, ret, err) < 0)
        return err->code;
    request_set_require(*ret, TIER_PROCESS);
    limits = &(*ret)->limits;
    limits->value[SBR_WALL_MS] = limit_defs[SBR_WALL_MS].max; /* the other end may be slow */
    limits->value[SBR_OUTPUT_BYTES] = MAX_SAID;
    for (size_t i = 0; words[i]; i++)
        if (request_add_arg(*ret, words[i], err) < 0)
            return err->code;
    return 0;
}

int tool_job_add_volume(sbr_request *req, const char *source, const char *target,
                        enum volume_mode mode, sbr_error *err)
{
    struct request_volume *grown =
        realloc(req->volumes, (req->n_volumes + 1) * sizeof(*req->volumes));

    if (!grown)
        return err_set_oom(err, "volumes");
    req->volumes = grown;
    grown += req->n_volumes++;
    *grown = (struct request_volume){ .mode = mode };
    grown->source = strdup(source);
    grown->target = strdup(target);
    return grown->source && grown->target ? 0 : err_set_oom(err, "volumes");
}

/* Turns until the end, as job_finish does, and calls `tick` meanwhile. */
static int watch(const struct tool_job *tool, sbr_job *job, sbr_error *err)
{
    struct pollfd ready = { .fd = loop_fd(&job->loop), .events = POLLIN };
    uint64_t shown_us = 0;
    int r = JOB_GOES_ON;

    while (r == JOB_GOES_ON) {
        uint64_t now_us = clock_now_us();

        if (now_us - shown_us >= TICK_MS * 1000) {
            tool->tick(tool->tick_context);
            shown_us = now_us;
        }
        if (poll(&ready, 1, TICK_MS) >= 0 || errno == EINTR)
            r = job_turn(job, false, err);
        else
            r = err_set_errno(err, "monitor", "cannot wait for events");
    }
    return r < 0 ? r : 0;
}

int tool_job_run(const struct tool_job *tool, const sbr_request *req, sbr_result **ret,
                 sbr_error *err)
{
    sbr_job *job;
    int r;

    if (job_new(tool->rt, req, &tool->options, &job, err) < 0)
        return err->code;
    job->warm.off = true; /* what an engine has ready hands out no /work */
    job->work_part = tool->work_part;
    job->writes_own = tool->writes_own;
    r = job_resolve(job, err);
    if (r == 0)
        r = job_begin(job, err);
    if (r == 0 && tool->tick)
        r = watch(tool, job, err);
    if (r == 0)
        r = job_finish(job, ret, err);
    job_free(job);
    return r;
}
