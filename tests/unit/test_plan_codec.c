#include <stdlib.h>

#include "base/buf.h"
#include "plan_fixture.h"
#include "unit.h"

static struct buf encoded;

/* A plan with one of everything: files, volumes, variables, a filter, hooks. */
static struct plan *make_sample(struct plan_case *c)
{
    sbr_error err;

    plan_case_init(c);
    assert_int_equal(request_add_file(c->request, "data.bin", "\0\1\2", 3, &err), 0);
    assert_int_equal(request_add_file(c->request, "empty", "", 0, &err), 0);
    assert_int_equal(request_add_volume(c->request, "/srv:/data", &err), 0);
    assert_int_equal(request_add_volume(c->request, "/srv:/more:rw", &err), 0);
    assert_int_equal(request_add_volume(c->request, "/srv:/own:cow", &err), 0);
    assert_int_equal(request_add_output(c->request, "out/*", &err), 0);
    c->request->diff = true;
    c->features.cow = COW_DISK;
    assert_int_equal(request_add_env(c->request, "A=1", &err), 0);
    assert_int_equal(request_add_arg(c->request, "", &err), 0);
    c->in.test_without = "masks"; /* keeps it short */
    return plan_case_make(c);
}

static int encode_sample(void **state)
{
    struct plan_case c;
    struct plan *plan = make_sample(&c);
    sbr_error err;

    (void)state;
    /* Every byte is tried below: a filter of three instructions is as good as one of hundreds. */
    plan->filters[0].len = 3;
    buf_init(&encoded, 1 << 20);
    assert_int_equal(plan_encode(plan, &encoded, &err), 0);
    plan_free(plan);
    plan_case_done(&c);
    return 0;
}

static int free_sample(void **state)
{
    (void)state;
    buf_done(&encoded);
    return 0;
}

static void assert_same_text(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void assert_same_list(const char *const *a, const char *const *b)
{
    for (; *a && *b; a++, b++)
        assert_string_equal(*a, *b);
    assert_null(*a);
    assert_null(*b);
}

static void assert_same_ops(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->n_ops, b->n_ops);
    for (size_t i = 0; i < a->n_ops; i++) {
        const struct plan_op *x = &a->ops[i], *y = &b->ops[i];

        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->flags, y->flags);
        assert_same_text(x->from, y->from);
        assert_same_text(x->to, y->to);
        assert_int_equal(x->mode, y->mode);
        assert_true(x->device == y->device);
        assert_same_text(x->upper, y->upper);
        assert_int_equal(x->len, y->len);
        if (x->len)
            assert_memory_equal(x->data, y->data, x->len);
    }
}

static void assert_same_collects(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->n_collects, b->n_collects);
    for (size_t i = 0; i < a->n_collects; i++) {
        assert_int_equal(a->collects[i].what, b->collects[i].what);
        assert_same_text(a->collects[i].path, b->collects[i].path);
        assert_int_equal(a->collects[i].cow, b->collects[i].cow);
    }
}

static void assert_same_confinement(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->n_rlimits, b->n_rlimits);
    for (size_t i = 0; i < a->n_rlimits; i++) {
        assert_int_equal(a->rlimits[i].resource, b->rlimits[i].resource);
        assert_true(a->rlimits[i].soft == b->rlimits[i].soft);
        assert_true(a->rlimits[i].hard == b->rlimits[i].hard);
    }
    assert_int_equal(a->n_rules, b->n_rules);
    for (size_t i = 0; i < a->n_rules; i++) {
        assert_string_equal(a->rules[i].path, b->rules[i].path);
        assert_int_equal(a->rules[i].access, b->rules[i].access);
        assert_int_equal(a->rules[i].optional, b->rules[i].optional);
    }
    assert_int_equal(a->landlock_abi, b->landlock_abi);
    assert_int_equal(a->n_filters, b->n_filters);
    for (size_t i = 0; i < a->n_filters; i++) {
        assert_int_equal(a->filters[i].len, b->filters[i].len);
        assert_memory_equal(a->filters[i].insns, b->filters[i].insns,
                            a->filters[i].len * sizeof(*a->filters[i].insns));
    }
}

static void assert_round_trip(const struct plan *plan)
{
    struct plan *back = NULL;
    struct buf bytes;
    sbr_error err;

    buf_init(&bytes, 1 << 20);
    assert_int_equal(plan_encode(plan, &bytes, &err), 0);
    assert_int_equal(plan_decode(bytes.data, bytes.len, &back, &err), 0);
    assert_true(plan->namespaces == back->namespaces);
    assert_int_equal(plan->inside_uid, back->inside_uid);
    assert_int_equal(plan->inside_gid, back->inside_gid);
    assert_same_text(plan->hostname, back->hostname);
    assert_same_text(plan->run_dir, back->run_dir);
    assert_same_text(plan->workdir, back->workdir);
    assert_true(plan->scratch_bytes == back->scratch_bytes);
    assert_true(plan->scratch_inodes == back->scratch_inodes);
    assert_same_ops(plan, back);
    assert_same_collects(plan, back);
    assert_same_confinement(plan, back);
    assert_same_list(plan->argv, back->argv);
    assert_same_list(plan->env, back->env);
    assert_int_equal(plan->supervise, back->supervise);
    assert_true(plan->memory_bytes == back->memory_bytes);
    assert_true(plan->cpu_ms == back->cpu_ms);
    assert_true(plan->max_processes == back->max_processes);
    assert_same_text(plan->test_without, back->test_without);
    assert_same_text(plan->test_fail, back->test_fail);
    plan_free(back);
    buf_done(&bytes);
}

static void what_is_encoded_is_decoded_the_same(void **state)
{
    struct plan_case c;
    struct plan *plan = make_sample(&c);

    (void)state;
    assert_round_trip(plan);
    plan_free(plan);

    c.in.test_without = "seccomp,landlock";
    c.in.test_fail = "mounts";
    c.features.cgroup.usable = 0;
    c.request->require = TIER_PROCESS;
    plan = plan_case_make(&c);
    assert_int_equal(plan->n_filters, 0);
    assert_true(plan->supervise);
    assert_round_trip(plan);
    plan_free(plan);

    plan_case_done(&c);
    plan_case_init(&c);
    c.request->require = TIER_PROCESS;
    c.in.run_dir = "/tmp/place";
    c.features.user_namespaces = false;
    c.features.landlock_abi = 1;
    plan = plan_case_make(&c);
    assert_int_equal(plan->n_filters, 3);
    assert_string_equal(plan->run_dir, "/tmp/place");
    assert_round_trip(plan);
    plan_free(plan);
    plan_case_done(&c);
}

/* Looks at all that a plan points to, so that a sanitizer sees a pointer that leads astray. */
static size_t walk(const struct plan *plan)
{
    size_t sum = strlen(plan->hostname) + strlen(plan->workdir);

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        sum += strlen(plan_op_name(op->kind)) + strlen(op->to) + (op->from ? strlen(op->from) : 0);
        for (size_t k = 0; k < op->len; k++)
            sum += ((const unsigned char *)op->data)[k];
    }
    for (size_t i = 0; i < plan->n_rlimits; i++)
        sum += plan->rlimits[i].resource;
    for (size_t i = 0; i < plan->n_rules; i++)
        sum += strlen(plan->rules[i].path) + plan->rules[i].access;
    for (size_t i = 0; i < plan->n_filters; i++)
        for (size_t k = 0; k < plan->filters[i].len; k++)
            sum += plan->filters[i].insns[k].k;
    sum += plan->run_dir ? strlen(plan->run_dir) : 0;
    for (const char **word = plan->argv; *word; word++)
        sum += strlen(*word);
    for (const char **pair = plan->env; *pair; pair++)
        sum += strlen(*pair);
    sum += plan->test_without ? strlen(plan->test_without) : 0;
    return sum + (plan->test_fail ? strlen(plan->test_fail) : 0);
}

/* True when the bytes are a plan; `exact` is a heap block of exactly this size. */
static bool decodes(const char *exact, size_t len)
{
    struct plan *plan = NULL;
    sbr_error err;

    if (plan_decode(exact, len, &plan, &err) != 0) {
        assert_null(plan);
        assert_int_equal(err.code, SBR_E_BUG);
        return false;
    }
    assert_true(walk(plan) > 0);
    plan_free(plan);
    return true;
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (size_t len = 0; len < encoded.len; len++) {
        char *exact = malloc(len + (len == 0));

        assert_non_null(exact);
        memcpy(exact, encoded.data, len);
        if (decodes(exact, len))
            fail_msg("%zu of %zu bytes are no plan", len, encoded.len);
        free(exact);
    }
}

static void a_byte_too_many_is_refused(void **state)
{
    char *longer = calloc(1, encoded.len + 1);

    (void)state;
    assert_non_null(longer);
    memcpy(longer, encoded.data, encoded.len);
    assert_true(decodes(longer, encoded.len));
    assert_false(decodes(longer, encoded.len + 1));
    free(longer);
}

static void every_corrupted_byte_is_refused_or_harmless(void **state)
{
    static const unsigned char changes[] = { 0x01, 0x80, 0xff };
    char *exact = malloc(encoded.len);

    (void)state;
    assert_non_null(exact);
    memcpy(exact, encoded.data, encoded.len);
    for (size_t i = 0; i < encoded.len; i++) {
        for (size_t k = 0; k < sizeof(changes); k++) {
            exact[i] = (char)(encoded.data[i] ^ changes[k]);
            decodes(exact, encoded.len);
        }
        exact[i] = 0;
        decodes(exact, encoded.len);
        exact[i] = encoded.data[i];
    }
    assert_true(decodes(exact, encoded.len));
    free(exact);
}

static void a_plan_of_another_build_is_refused(void **state)
{
    char *exact = malloc(encoded.len);

    (void)state;
    assert_non_null(exact);
    memcpy(exact, encoded.data, encoded.len);
    for (int i = 0; i < 4; i++) {
        exact[i] ^= 1;
        assert_false(decodes(exact, encoded.len));
        exact[i] ^= 1;
    }
    free(exact);
}

/* Enough of a plan to be decoded, but for what the test changes. */
static struct plan *bare_plan(struct plan_op *op, const char **argv, const char **env)
{
    struct plan *plan = plan_new();

    plan->hostname = "h";
    plan->workdir = "/";
    plan->ops = op;
    plan->n_ops = op ? 1 : 0;
    plan->argv = argv;
    plan->env = env;
    return plan;
}

static bool bare_decodes(struct plan *take_plan)
{
    struct buf bytes;
    sbr_error err;
    bool ok;

    buf_init(&bytes, 4096);
    assert_int_equal(plan_encode(take_plan, &bytes, &err), 0);
    ok = decodes(bytes.data, bytes.len);
    buf_done(&bytes);
    take_plan->ops = NULL;
    plan_free(take_plan);
    return ok;
}

static void values_that_no_table_has_are_refused(void **state)
{
    const char *argv[] = { "true", NULL }, *none[] = { NULL };
    struct plan_op op = { .kind = OP_DIR, .to = "x" };
    struct plan *plan;

    (void)state;
    assert_true(bare_decodes(bare_plan(&op, argv, none)));
    op.kind = N_OPS;
    assert_false(bare_decodes(bare_plan(&op, argv, none)));
    op = (struct plan_op){ .kind = OP_DIR };
    assert_false(bare_decodes(bare_plan(&op, argv, none)));
    assert_false(bare_decodes(bare_plan(NULL, none, none)));
    plan = bare_plan(NULL, argv, none);
    plan->hostname = NULL;
    assert_false(bare_decodes(plan));
    plan = bare_plan(NULL, argv, none);
    plan->workdir = NULL;
    assert_false(bare_decodes(plan));
    plan = bare_plan(NULL, argv, none);
    plan->n_rules = 1;
    plan->rules[0] =
        (struct plan_rule){ .path = "/", .access = (enum access_kind)(ACCESS_WRITE + 1) };
    assert_false(bare_decodes(plan));
}

static void a_plan_that_does_not_fit_is_not_half_encoded(void **state)
{
    struct plan_case c;
    struct plan *plan = make_sample(&c);
    struct buf bytes;
    sbr_error err;

    (void)state;
    buf_init(&bytes, 100);
    assert_refused(plan_encode(plan, &bytes, &err), &err, SBR_E_NO_MEMORY, "memory");
    buf_done(&bytes);
    plan_free(plan);
    plan_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_is_decoded_the_same),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(a_byte_too_many_is_refused),
        cmocka_unit_test(every_corrupted_byte_is_refused_or_harmless),
        cmocka_unit_test(a_plan_of_another_build_is_refused),
        cmocka_unit_test(values_that_no_table_has_are_refused),
        cmocka_unit_test(a_plan_that_does_not_fit_is_not_half_encoded),
    };

    return cmocka_run_group_tests(tests, encode_sample, free_sample);
}
