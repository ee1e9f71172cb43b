
#include "http/execution.h"
#include "http/server.h"

/* What comes between two looks, each of which goes through all that is kept. */
#define LOOK_MAX 64
#define LOOK_BYTES ((size_t)16 << 20)

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

/* Those that run or are read stay, however many there are: the next look waits for more. */
void execution_kept_trim(struct server *server)
{
    struct server_kept *kept = &server->kept;

    kept_share_trim(&(struct kept_pool){ &server->executions, look, forget, NULL });
    kept->most_n = (kept->n > KEPT_MAX ? kept->n : KEPT_MAX) + LOOK_MAX;
    kept->most_bytes = (kept->bytes > KEPT_BYTES ? kept->bytes : KEPT_BYTES) + LOOK_BYTES;
}

void execution_kept_look(struct server *server)
{
    const struct server_kept *kept = &server->kept;

    if (kept->n > kept->most_n || kept->bytes > kept->most_bytes)
        execution_kept_trim(server);
}
