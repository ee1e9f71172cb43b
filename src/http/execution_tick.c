/* How long runs are kept, and what ends them by itself. */
#include "http/execution.h"
#include "http/server.h"

#define ALONE_US (15 * 1000000ULL) /* how long a streamed run waits for readers */

void execution_tick(struct server *server, uint64_t now_us)
{
    list_each(at, &server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        if (e->job && e->mode == EXECUTION_STREAMED && e->alone_us &&
            now_us > e->alone_us + ALONE_US && !life_is_cancelled(e->state)) {
            server->counters.cancelled_by_client++;
            execution_cancel(e);
        }
        if (!execution_may_go(e) || now_us < e->ended_us + EXECUTION_KEPT_US)
            continue;
        execution_record_forget(e);
        execution_free(e);
    }
}
