/* A failed program's last words, held against a plan: no more refusals than are kept, each whole
 * and for people. */
#include "explain/denial_text.h"
#include "fuzz.h"

static struct plan_op ops[] = {
    { .kind = OP_BIND, .to = "/usr", .from = "/usr" },
    { .kind = OP_BIND, .to = "/data/in", .from = "/srv/in" },
    { .kind = OP_SCRATCH, .to = "/work" },
    { .kind = OP_SCRATCH, .to = "/tmp" },
};

static void check(const struct plan *plan, const char *text, size_t size)
{
    struct denials found = { 0 };

    denial_text(plan, text, size, &found);
    FUZZ_ASSERT(found.n <= DENIAL_TEXT_MAX);
    for (size_t i = 0; i < found.n; i++) {
        const struct denial *one = &found.items[i];

        FUZZ_ASSERT(one->kind == DENIAL_FILE && one->target[0] &&
                    !strncmp(one->rule, "stderr: ", 8));
        for (const char *c = one->target; *c; c++)
            FUZZ_ASSERT(*c != '\n' && *c != '\x1b');
        for (const char *c = one->remedy; *c; c++)
            FUZZ_ASSERT(*c != '\n' && *c != '\x1b');
    }
    denials_done(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan plan = { .ops = ops,
                         .n_ops = sizeof(ops) / sizeof(*ops),
                         .rules = { { .path = "/usr", .access = 1 },
                                    { .path = "/work", .access = 3 } },
                         .n_rules = 2 };
    char *text = malloc(size + (size == 0)); /* of exactly this size, without a NUL */

    FUZZ_ASSERT(text);
    if (size)
        memcpy(text, data, size);
    check(&plan, text, size);
    plan.run_dir = "/tmp/sandbox-run-x";
    check(&plan, text, size);
    free(text);
    return 0;
}
