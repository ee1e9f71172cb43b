#include "work/run_alone.h"

#include "base/scope.h"
#include "model/result.h"

struct alone {
    const sbr_request *req; /* NULL: it has begun */
    sbr_result *result;
    sbr_error err;
};

static int next(void *context, const sbr_request **ret, void **ret_item)
{
    struct alone *alone = context;

    *ret = take_ptr(alone->req);
    *ret_item = alone;
    return *ret ? 1 : 0;
}

static void done(void *context, void *item, sbr_result *result, const sbr_error *err)
{
    struct alone *alone = context;

    (void)item;
    alone->result = result;
    if (!result)
        alone->err = *err;
}

int run_alone(sbr_runtime *rt, const sbr_request *req, int stop_fd, sbr_result **ret,
              sbr_error *err)
{
    struct alone alone = { .req = req };
    const sbr_batch batch = { .struct_size = sizeof(batch),
                              .jobs = 1,
                              .stop_fd = stop_fd,
                              .context = &alone,
                              .next = next,
                              .done = done };

    if (sbr_batch_run(rt, &batch, err) < 0)
        return err->code;
    if (!alone.result) {
        *err = alone.err;
        return err->code ? err->code : err_set(err, SBR_E_BUSY, "batch", "the run was stopped");
    }
    *ret = alone.result;
    return 0;
}

const sbr_result *run_alone_failed_part(const sbr_result *result)
{
    bool before = result->verdict == SBR_COMPILE_FAILED || result->verdict == SBR_INSTALL_FAILED;

    return before && result->n_before ? result->before[result->n_before - 1] : result;
}
