#include "http/durable.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "http/server.h"

bool durable_is_asked(const struct exchange *x)
{
    const char *prefer = exchange_header(x, "Prefer");

    return prefer && strcasestr(prefer, "respond-async");
}

void durable_refuse(struct exchange *x, const sbr_error *err)
{
    bool large = err->code == SBR_E_INVALID;

    problem_reply(x, &(struct problem){
                         .status = large ? HTTP_CONTENT_TOO_LARGE : HTTP_SERVICE_UNAVAILABLE,
                         .code = "joblog",
                         .detail = err->message,
                         .remedy = "the job was not accepted; a run that is waited for is not put "
                                   "on record",
                         .retry_s = large ? 0 : 1 });
}

void durable_fail(struct execution *e, const sbr_error *err)
{
    sbr_job_free(take_ptr(e->job));
    execution_end(e, NULL, err);
    if (e->ended)
        e->ended(e, e->ended_context);
    execution_record_end(e, execution_settle);
}

/* Tests end the gateway here, at the N-th such moment: "accepted:N". */
static void come_to(struct server *server, const char *moment)
{
#ifdef SBR_TEST_HOOKS
    const char *wanted = getenv("SANDBOX_RUN_TEST_KILL");

    if (wanted && !strncmp(wanted, moment, strlen(moment)) &&
        ++server->moment == strtoul(wanted + strlen(moment) + 1, NULL, 10))
        (void)raise(SIGKILL);
#else
    (void)server;
    (void)moment;
#endif
}

static void begun(struct execution *e, const sbr_error *err)
{
    come_to(e->server, "begun");
    if (err)
        durable_fail(e, err);
    else
        execution_begin(e);
}

void durable_begin(struct execution *e)
{
    come_to(e->server, "accepted");
    execution_record_begin(e, begun);
}
