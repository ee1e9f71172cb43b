#include "http/execution_trees.h"

#include "http/offload.h"
#include "http/server.h"
#include "lib/runner.h"

static int open_trees(struct offload *o, sbr_error *err)
{
    const struct execution *e = o->extra;

    (void)err;
    runner_open_trees(e->job);
    return 0;
}

/* Back in the loop: the job goes on, and fails there if the thread's part did. */
static void trees_opened(struct offload *o, const sbr_error *err)
{
    struct execution *e = o->extra;

    (void)err;
    e->opening = false;
    if (e->cancelled)
        execution_cancel(e);
    if (loop_add(&e->server->loop, &e->watch, EPOLLIN) < 0)
        execution_cancel(e);
}

bool execution_trees_are_later(struct execution *e)
{
    e->opening = true;
    if (offload_start_own(e->server, &(struct offload){ .work = open_trees,
                                                        .done = trees_opened,
                                                        .extra = e }) == 0)
        return true;
    e->opening = false;
    return false;
}
