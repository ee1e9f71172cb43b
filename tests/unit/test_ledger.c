/* What callers hold at once: the bounds one by one, then all of them by many threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "admit/ledger.h"
#include "base/scope.h"
#include "unit.h"

#define MINUTE_US 60000000ULL

static uint64_t now_us, disk;
static bool engine_queues;

static uint64_t now(void)
{
    return now_us;
}

static uint64_t disk_left(void)
{
    return disk;
}

static bool queues(void)
{
    return engine_queues;
}

/* 8 runs, 4 agents, 1000 MiB; half of that beside others. */
static void open_ledger(struct ledger *ledger, unsigned int tenants)
{
    const struct ledger_bounds bounds = { .runs = 8,
                                          .agents = 4,
                                          .memory = 1000 * MIB,
                                          .share = 50,
                                          .queues = queues,
                                          .disk_left = disk_left,
                                          .now_us = now };

    now_us = 1000;
    disk = 100 * MIB;
    engine_queues = false;
    ledger_open(ledger, &bounds);
    ledger_set_tenants(ledger, tenants);
}

static struct grant grant_of(const char *tenant)
{
    struct grant grant;

    if (!strcmp(tenant, GRANT_LOCAL)) {
        grant_init_local(&grant);
        return grant;
    }
    grant_init_token(&grant);
    snprintf(grant.name, sizeof(grant.name), "%s", tenant);
    snprintf(grant.token_id, sizeof(grant.token_id), "of-%s", tenant);
    return grant;
}

static void assert_nothing_is_held(struct ledger *ledger, const char *tenant)
{
    const struct need used = ledger_used(ledger, tenant);

    assert_int_equal(used.runs + used.sessions + used.agents, 0);
    assert_int_equal(used.memory, 0);
    assert_int_equal(used.disk, 0);
}

/* clang-format off */
/* The tenant holds `has`, others hold `others`; then it may take `at` more, and not `above`. */
static const struct row {
    struct need has, others, at, above;
    enum bound bound;
    enum refusal_kind kind;
    unsigned int tenants, position;
    unsigned int concurrency, sessions; /* of the grant */
    const char *tenant;
} rows[] = {
    /* Of the grant. */
    { { .runs = 2 }, { 0 }, { .runs = 1 }, { .runs = 2 }, BOUND_RUNS, REFUSED_FULL, 1, 3, 3, 0, "a" },
    { { .sessions = 1 }, { .sessions = 9 }, { .sessions = 1 }, { .sessions = 2 }, BOUND_SESSIONS, REFUSED_FULL, 1, 0, 0, 2, "a" },
    /* Of the gateway. */
    { { .runs = 2 }, { .runs = 3 }, { .runs = 3 }, { .runs = 4 }, BOUND_RUNS, REFUSED_FULL, 1, 6, 0, 0, "a" },
    { { .agents = 1 }, { .agents = 2 }, { .agents = 1 }, { .agents = 2 }, BOUND_RUNS, REFUSED_FULL, 1, 0, 0, 0, "a" },
    { { .memory = 300 * MIB }, { .memory = 300 * MIB }, { .memory = 400 * MIB }, { .memory = 400 * MIB + 1 }, BOUND_MEMORY, REFUSED_FULL, 1, 0, 0, 0, "a" },
    { { .disk = 30 * MIB }, { .disk = 30 * MIB }, { .disk = 40 * MIB }, { .disk = 40 * MIB + 1 }, BOUND_DISK, REFUSED_FULL, 1, 0, 0, 0, "a" },
    /* The share of one of several tenants. */
    { { .runs = 3 }, { 0 }, { .runs = 1 }, { .runs = 2 }, BOUND_RUNS, REFUSED_FULL, 2, 4, 0, 0, "a" },
    { { .agents = 1 }, { 0 }, { .agents = 1 }, { .agents = 2 }, BOUND_RUNS, REFUSED_FULL, 2, 0, 0, 0, "a" },
    { { .memory = 100 * MIB }, { 0 }, { .memory = 400 * MIB }, { .memory = 400 * MIB + 1 }, BOUND_MEMORY, REFUSED_FULL, 2, 0, 0, 0, "a" },
    { { 0 }, { 0 }, { .memory = 500 * MIB }, { .memory = 500 * MIB + 1 }, BOUND_MEMORY, REFUSED_FORBIDDEN, 2, 0, 0, 0, "a" },
    /* The local user has no share, only what there is. */
    { { .runs = 4 }, { .runs = 1 }, { .runs = 3 }, { .runs = 4 }, BOUND_RUNS, REFUSED_FULL, 2, 6, 0, 0, GRANT_LOCAL },
    { { .agents = 2 }, { .agents = 1 }, { .agents = 1 }, { .agents = 2 }, BOUND_RUNS, REFUSED_FULL, 2, 0, 0, 0, GRANT_LOCAL },
    { { .memory = 500 * MIB }, { .memory = 100 * MIB }, { .memory = 400 * MIB }, { .memory = 400 * MIB + 1 }, BOUND_MEMORY, REFUSED_FULL, 2, 0, 0, 0, GRANT_LOCAL },
};
/* clang-format on */

static void every_bound_passes_at_it_and_not_above(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct grant grant = grant_of(row->tenant), other = grant_of("b");
        struct held *held[3] = { NULL }, *none = NULL;
        struct refusal refusal = { 0 };
        struct ledger ledger;

        open_ledger(&ledger, row->tenants);
        grant.concurrency = row->concurrency;
        grant.sessions = row->sessions;
        assert_int_equal(ledger_take(&ledger, &other, &row->others, NULL, NULL, &held[0], &refusal),
                         0);
        assert_int_equal(ledger_take(&ledger, &grant, &row->has, NULL, NULL, &held[1], &refusal),
                         0);
        if (ledger_take(&ledger, &grant, &row->above, NULL, NULL, &none, &refusal) != -1 ||
            refusal.bound != row->bound || refusal.kind != row->kind ||
            refusal.position != row->position)
            fail_msg("row %zu: bound %d at %u: %s", i, (int)refusal.bound, refusal.position,
                     refusal.err.message);
        assert_null(none);
        assert_int_equal(refusal.retry_s, row->kind == REFUSED_FULL ? 1 : 0);
        assert_int_equal(ledger_totals(&ledger, grant.name).refused, 1);
        if (ledger_take(&ledger, &grant, &row->at, NULL, NULL, &held[2], &refusal) != 0)
            fail_msg("row %zu: %s", i, refusal.err.message);
        for (size_t k = 0; k < ARRAY_LEN(held); k++)
            ledger_give_back(held[k]);
        assert_nothing_is_held(&ledger, NULL);
        assert_nothing_is_held(&ledger, grant.name);
        ledger_close(&ledger);
    }
}

static void one_that_needs_more_than_there_is_has_the_machine_alone(void **state)
{
    const struct need much = { .memory = 2000 * MIB }, little = { .memory = 1 };
    const struct grant grant = grant_of("a");
    struct held *held = NULL, *none = NULL;
    struct refusal refusal = { 0 };
    struct ledger ledger;

    (void)state;
    open_ledger(&ledger, 1);
    assert_int_equal(ledger_take(&ledger, &grant, &much, NULL, NULL, &held, &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &grant, &little, NULL, NULL, &none, &refusal), -1);
    assert_int_equal(refusal.bound, BOUND_MEMORY);
    ledger_give_back(held);
    ledger_give_back(NULL);
    ledger_close(&ledger);
}

/* An engine lets runs wait, but no session. */
static void an_engine_lets_runs_wait_for_memory(void **state)
{
    const struct need half = { .memory = 500 * MIB };
    const struct need run = { .runs = 1, .memory = 500 * MIB };
    const struct need session = { .sessions = 1, .memory = 500 * MIB };

    (void)state;
    for (unsigned int tenants = 1; tenants <= 2; tenants++) {
        const struct grant grant = grant_of("a"), other = grant_of("b");
        struct held *held[3] = { NULL }, *none = NULL;
        struct refusal refusal = { 0 };
        struct ledger ledger;

        open_ledger(&ledger, tenants);
        assert_int_equal(ledger_take(&ledger, &grant, &half, NULL, NULL, &held[0], &refusal), 0);
        assert_int_equal(ledger_take(&ledger, &other, &half, NULL, NULL, &held[1], &refusal), 0);
        assert_int_equal(ledger_take(&ledger, &grant, &run, NULL, NULL, &none, &refusal), -1);
        engine_queues = true;
        assert_int_equal(ledger_take(&ledger, &grant, &session, NULL, NULL, &none, &refusal), -1);
        assert_int_equal(refusal.bound, BOUND_MEMORY);
        assert_int_equal(ledger_take(&ledger, &grant, &run, NULL, NULL, &held[2], &refusal), 0);
        assert_int_equal(ledger_used(&ledger, NULL).memory, 1500 * MIB);
        for (size_t k = 0; k < ARRAY_LEN(held); k++)
            ledger_give_back(held[k]);
        ledger_close(&ledger);
    }
}

static void a_rate_fills_again_by_time(void **state)
{
    struct grant grant = grant_of("a"), unbound = grant_of("a");
    struct refusal refusal = { 0 };
    struct ledger ledger;

    (void)state;
    open_ledger(&ledger, 1);
    grant.per_minute = 6;
    assert_int_equal(ledger_count_starts(&ledger, &grant, 7, &refusal), -1);
    assert_int_equal(refusal.bound, BOUND_RATE);
    assert_int_equal(refusal.retry_s, 60);
    assert_non_null(strstr(refusal.err.message, "7 programs"));
    assert_int_equal(ledger_count_starts(&ledger, &grant, 6, &refusal), 0);
    assert_int_equal(ledger_count_starts(&ledger, &grant, 0, &refusal), 0);
    assert_int_equal(ledger_count_starts(&ledger, &grant, 1, &refusal), -1);
    assert_int_equal(refusal.kind, REFUSED_FULL);
    assert_int_equal(refusal.retry_s, 11);
    assert_int_equal(ledger_count_starts(&ledger, &grant, 3, &refusal), -1);
    assert_int_equal(refusal.retry_s, 31);
    now_us += MINUTE_US / 6 - 1000;
    assert_int_equal(ledger_count_starts(&ledger, &grant, 1, &refusal), -1);
    now_us += 2000;
    assert_int_equal(ledger_count_starts(&ledger, &grant, 1, &refusal), 0);
    assert_int_equal(ledger_count_starts(&ledger, &grant, 1, &refusal), -1);
    /* A token of the same tenant without a rate neither waits nor takes from the other's. */
    assert_int_equal(ledger_count_starts(&ledger, &unbound, 1000, &refusal), 0);
    now_us += 100 * MINUTE_US; /* no more than a minute's worth */
    assert_int_equal(ledger_count_starts(&ledger, &unbound, 1000, &refusal), 0);
    assert_int_equal(ledger_count_starts(&ledger, &grant, 6, &refusal), 0);
    assert_int_equal(ledger_count_starts(&ledger, &unbound, 1000, &refusal), 0);
    assert_int_equal(ledger_count_starts(&ledger, &grant, 1, &refusal), -1);
    assert_int_equal(refusal.retry_s, 11);
    assert_int_equal(ledger_totals(&ledger, "a").starts, 3013);
    assert_int_equal(ledger_totals(&ledger, "a").refused, 6);
    assert_int_equal(ledger_totals(&ledger, "nobody").starts, 0);
    assert_nothing_is_held(&ledger, "nobody");
    ledger_close(&ledger);
}

/* What another bound refuses takes nothing of the rate. */
static void a_refusal_costs_no_start(void **state)
{
    const struct need need = { .runs = 9, .starts = 1 }, one = { .runs = 1, .starts = 1 };
    struct grant grant = grant_of("a");
    struct refusal refusal = { 0 };
    struct held *held = NULL;
    struct ledger ledger;

    (void)state;
    open_ledger(&ledger, 1);
    grant.per_minute = 1;
    assert_int_equal(ledger_take(&ledger, &grant, &need, NULL, NULL, &held, &refusal), -1);
    assert_int_equal(refusal.bound, BOUND_RUNS);
    assert_int_equal(ledger_take(&ledger, &grant, &one, NULL, NULL, &held, &refusal), 0);
    ledger_give_back(held);
    assert_int_equal(ledger_take(&ledger, &grant, &one, NULL, NULL, &held, &refusal), -1);
    assert_int_equal(refusal.bound, BOUND_RATE);
    assert_nothing_is_held(&ledger, NULL);
    ledger_close(&ledger);
}

static void memory_that_is_known_by_now_is_set(void **state)
{
    const struct need need = { .runs = 1, .memory = 600 * MIB }, rest = { .memory = 900 * MIB };
    const struct grant grant = grant_of("a");
    struct held *held = NULL, *second = NULL;
    struct refusal refusal = { 0 };
    struct ledger ledger;

    (void)state;
    open_ledger(&ledger, 1);
    assert_int_equal(ledger_take(&ledger, &grant, &need, NULL, NULL, &held, &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &grant, &rest, NULL, NULL, &second, &refusal), -1);
    ledger_set_memory(held, 100 * MIB);
    assert_int_equal(ledger_used(&ledger, "a").memory, 100 * MIB);
    assert_int_equal(ledger_take(&ledger, &grant, &rest, NULL, NULL, &second, &refusal), 0);
    ledger_set_memory(held, 5000 * MIB); /* no bound can refuse it */
    assert_int_equal(ledger_used(&ledger, NULL).memory, 5900 * MIB);
    assert_int_equal(ledger_used(&ledger, "a").runs, 1);
    ledger_give_back(second);
    ledger_give_back(held);
    assert_nothing_is_held(&ledger, "a");
    assert_nothing_is_held(&ledger, NULL);
    ledger_close(&ledger);
}

static sbr_request *make_request(const char *language, uint64_t memory)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new(language, NULL, &req, &err), 0);
    if (memory)
        assert_int_equal(limits_set(&req->limits, SBR_MEMORY_BYTES, memory, &err), 0);
    return req;
}

/* Beside other tenants limits that nobody asked for are lowered to the share, 500 MiB. */
static void a_request_is_fitted_into_the_share(void **state)
{
    static const struct {
        const char *tenant, *language;
        unsigned int tenants;
        uint64_t asked, memory, ceiling;
        unsigned int share;
    } fits[] = {
        { "a", "python", 1, 0, 512 * MIB, 0, 0 },
        { GRANT_LOCAL, "python", 2, 0, 512 * MIB, 0, 0 },
        { "a", "python", 2, 0, 500 * MIB, 500 * MIB, 50 },
        { "a", "python", 2, 64 * MIB, 64 * MIB, 0, 50 },
        { "a", "python", 2, 500 * MIB, 500 * MIB, 0, 50 },
        { "a", "python", 2, 501 * MIB, 501 * MIB, 500 * MIB, 50 }, /* ledger_take refuses it */
        { "a", "c", 2, 64 * MIB, 64 * MIB, 500 * MIB, 50 },        /* its compiler needs more */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fits); i++) {
        sbr_request *req = make_request(fits[i].language, fits[i].asked);
        struct grant grant = grant_of(fits[i].tenant);
        struct ledger ledger;

        open_ledger(&ledger, fits[i].tenants);
        ledger_fit(&ledger, &grant, req);
        assert_int_equal(req->limits.value[SBR_MEMORY_BYTES], fits[i].memory);
        assert_int_equal(req->ceilings.given, fits[i].ceiling ? 1u << SBR_MEMORY_BYTES : 0);
        if (fits[i].ceiling)
            assert_int_equal(req->ceilings.value[SBR_MEMORY_BYTES], fits[i].ceiling);
        assert_int_equal(req->share, fits[i].share);
        ledger_lower_ceilings(&ledger, &grant);
        assert_true(grant_most(&grant, SBR_MEMORY_BYTES) ==
                    (fits[i].share ? 500 * MIB : LIMIT_NONE));
        grant.ceilings.value[SBR_MEMORY_BYTES] = MIB;
        grant.ceilings.given = 1u << SBR_MEMORY_BYTES;
        ledger_lower_ceilings(&ledger, &grant);
        assert_int_equal(grant_most(&grant, SBR_MEMORY_BYTES), MIB);
        request_free(req);
        ledger_close(&ledger);
    }
}

/* A share of what is very little is still one. */
static void a_share_is_never_nothing(void **state)
{
    const struct ledger_bounds bounds = { .runs = 1, .agents = 1, .share = 25, .now_us = now };
    const struct need need = { .runs = 1, .agents = 1, .disk = UINT64_MAX };
    const struct grant grant = grant_of("a");
    struct refusal refusal = { 0 };
    struct held *held = NULL;
    struct ledger ledger;

    (void)state;
    ledger_open(&ledger, &bounds);
    ledger_set_tenants(&ledger, 9);
    assert_int_equal(ledger_take(&ledger, &grant, &need, NULL, NULL, &held, &refusal), 0);
    ledger_give_back(held);
    ledger_close(&ledger);
}

struct stopped {
    int times;
    struct held *held; /* given back by the stop itself; NULL: it is not */
};

static void stop(void *context)
{
    struct stopped *stopped = context;

    stopped->times++;
    ledger_give_back(stopped->held);
}

static const char *revoked = "";

static bool is_revoked(void *unused, const char *token_id)
{
    (void)unused;
    assert_string_not_equal(token_id, "");
    return !strcmp(token_id, revoked);
}

static void what_a_revoked_token_holds_is_stopped_once(void **state)
{
    const struct grant a = grant_of("a"), b = grant_of("b"), local = grant_of(GRANT_LOCAL);
    const struct need need = { .runs = 1 };
    struct stopped of_a = { 0 }, gives_back = { 0 }, of_b = { 0 }, of_local = { 0 }, later = { 0 };
    struct held *held[6] = { NULL };
    struct refusal refusal = { 0 };
    struct ledger ledger;

    (void)state;
    open_ledger(&ledger, 1);
    assert_int_equal(ledger_take(&ledger, &a, &need, stop, &of_a, &held[0], &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &a, &need, stop, &gives_back, &held[1], &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &b, &need, stop, &of_b, &held[2], &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &local, &need, stop, &of_local, &held[3], &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &a, &need, NULL, NULL, &held[4], &refusal), 0);
    assert_int_equal(ledger_take(&ledger, &a, &need, stop, &later, &held[5], &refusal), 0);
    gives_back.held = take_ptr(held[1]);
    ledger_set_stop(held[5], NULL, NULL);
    ledger_end_tokens(&ledger, is_revoked, NULL);
    assert_int_equal(of_a.times + gives_back.times + of_b.times, 0);
    revoked = "of-a";
    for (int i = 0; i < 3; i++)
        ledger_end_tokens(&ledger, is_revoked, NULL);
    assert_int_equal(of_a.times, 1);
    assert_int_equal(gives_back.times, 1);
    assert_int_equal(of_b.times + of_local.times + later.times, 0);
    assert_int_equal(ledger_used(&ledger, "a").runs, 3);
    ledger_set_stop(held[5], stop, &later); /* from now on it can be */
    for (int i = 0; i < 3; i++)
        ledger_end_tokens(&ledger, is_revoked, NULL);
    assert_int_equal(later.times, 1);
    assert_int_equal(of_a.times, 1);
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        ledger_give_back(held[i]);
    assert_nothing_is_held(&ledger, NULL);
    ledger_close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bound_passes_at_it_and_not_above),
        cmocka_unit_test(one_that_needs_more_than_there_is_has_the_machine_alone),
        cmocka_unit_test(an_engine_lets_runs_wait_for_memory),
        cmocka_unit_test(a_rate_fills_again_by_time),
        cmocka_unit_test(a_refusal_costs_no_start),
        cmocka_unit_test(memory_that_is_known_by_now_is_set),
        cmocka_unit_test(a_request_is_fitted_into_the_share),
        cmocka_unit_test(a_share_is_never_nothing),
        cmocka_unit_test(what_a_revoked_token_holds_is_stopped_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
