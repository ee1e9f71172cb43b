/* What init is given.  A plan that is decoded must be safe to look at, and must be the same after
 * another round. */
#include "base/buf.h"
#include "fuzz.h"
#include "plan/plan.h"

static size_t walk(const struct plan *plan)
{
    size_t sum = strlen(plan->hostname) + strlen(plan->workdir);

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        sum += strlen(plan_op_name(op->kind)) + strlen(op->to) + (op->from ? strlen(op->from) : 0);
        for (size_t k = 0; k < op->len; k++)
            sum += ((const unsigned char *)op->data)[k];
    }
    for (size_t i = 0; i < plan->n_rules; i++)
        sum += strlen(plan->rules[i].path);
    for (size_t i = 0; i < plan->n_filters; i++)
        for (size_t k = 0; k < plan->filters[i].len; k++)
            sum += plan->filters[i].insns[k].k;
    for (const char **word = plan->argv; *word; word++)
        sum += strlen(*word);
    for (const char **pair = plan->env; *pair; pair++)
        sum += strlen(*pair);
    return sum + plan_list_has(plan->test_without, "x") + plan_list_has(plan->test_fail, "x");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile size_t forward;
    struct plan *plan = NULL;
    struct buf again;
    sbr_error err;

    if (plan_decode(data, size, &plan, &err) != 0) {
        FUZZ_ASSERT(!plan);
        return 0;
    }
    forward = walk(plan);
    (void)forward;
    buf_init(&again, size);
    FUZZ_ASSERT(plan_encode(plan, &again, &err) == 0);
    FUZZ_ASSERT(again.len == size);
    buf_done(&again);
    free(plan_to_json(plan, true));
    plan_free(plan);
    return 0;
}
