
#include "http/offload.h"

static int work(struct offload *o, sbr_error *err)
{
    struct apart *a = o->extra;

    (void)err;
    a->work(a);
    return 0;
}

static void done(struct offload *o, const sbr_error *err)
{
    struct exchange *x = take_ptr(o->x); /* `then` replies */
    struct apart *a = o->extra;

    (void)err;
    if (x)
        exchange_go_on(x);
    a->then(a, x);
}

void apart_do(struct exchange *x, bool large, struct apart *a)
{
    if (large) {
        offload_start(x, &(struct offload){ .work = work, .done = done, .extra = a });
        return;
    }
    a->work(a);
    a->then(a, x);
}
