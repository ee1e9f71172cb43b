#include "http/execution.h"

#include <stdlib.h>

#include "http/offload.h"
#include "lib/runner.h"

struct unopened {
    struct execution *e;
    void (*opened)(struct execution *e);
};

static int open_trees(struct offload *o, sbr_error *err)
{
    const struct unopened *unopened = o->extra;

    (void)err;
    runner_open_trees(unopened->e->job);
    return 0;
}

static void trees_opened(struct offload *o, const sbr_error *err)
{
    struct unopened *unopened = o->extra;

    (void)err;
    unopened->e->users--;
    unopened->opened(unopened->e);
    free(unopened);
}

bool execution_trees_are_later(struct execution *e, void (*opened)(struct execution *e))
{
    struct unopened *unopened = malloc(sizeof(*unopened));

    if (!unopened)
        return false;
    *unopened = (struct unopened){ .e = e, .opened = opened };
    e->users++;
    if (offload_start_own(e->server, &(struct offload){ .work = open_trees,
                                                        .done = trees_opened,
                                                        .extra = unopened }) == 0)
        return true;
    e->users--;
    free(unopened);
    return false;
}
