
#include "http/execution.h"
#include "http/server.h"

static struct kept look(const struct link *at)
{
    const struct execution *e = link_owner(at, struct execution, link);

    return (struct kept){ execution_may_go(e) ? e->tenant : NULL, e->counted_bytes };
}

static void forget(struct link *at, void *context)
{
    struct execution *e = link_owner(at, struct execution, link);

    (void)context;
    execution_record_forget(e);
    execution_free(e);
}

void execution_kept_trim(struct server *server)
{
    kept_share_trim(&(struct kept_pool){ &server->executions, look, forget, NULL });
}
