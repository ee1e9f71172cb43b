/* However many ask at once, no bound of the ledger is passed, and all comes back. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "admit/ledger.h"
#include "unit.h"

#define N_THREADS 64
#define N_ROUNDS 100
#define RATE 500

static uint64_t now(void)
{
    return 1000; /* a rate does not fill again */
}

static uint64_t disk_left(void)
{
    return 7;
}

/* What each thread takes in each round: of one count only, so that only its bound can refuse.  With
 * two tenants the share of half holds. */
static const struct row {
    const char *name;
    struct need need;
    enum bound bound;
    unsigned int tenants;
    unsigned int most, most_of_one; /* of all, and of one tenant */
} rows[] = {
    { "runs", { .runs = 1 }, BOUND_RUNS, 1, 8, 8 },
    { "runs of a share", { .runs = 1 }, BOUND_RUNS, 2, 8, 4 },
    { "sessions", { .sessions = 1 }, BOUND_SESSIONS, 1, 6, 3 },
    { "agents", { .agents = 1 }, BOUND_RUNS, 1, 4, 4 },
    { "agents of a share", { .agents = 1 }, BOUND_RUNS, 2, 4, 2 },
    { "memory", { .memory = 1 }, BOUND_MEMORY, 1, 10, 10 },
    { "memory of a share", { .memory = 1 }, BOUND_MEMORY, 2, 10, 5 },
    { "disk", { .disk = 1 }, BOUND_DISK, 1, 7, 7 },
    { "rate", { .starts = 1 }, BOUND_RATE, 1, N_THREADS, N_THREADS },
};

static struct attack {
    struct ledger ledger;
    struct grant grants[2]; /* every other thread is of the other tenant */
    const struct row *row;
    pthread_barrier_t barrier;
    atomic_uint all, own[2]; /* held now: counted after a take, no more before it is given back */
    atomic_uint taken[2], faults;
} attack;

static struct held *take(unsigned int which)
{
    struct refusal refusal = { 0 };
    struct held *held = NULL;
    unsigned int all, own;

    if (ledger_take(&attack.ledger, &attack.grants[which], &attack.row->need, NULL, NULL, &held,
                    &refusal) < 0) {
        atomic_fetch_add(&attack.faults, refusal.bound != attack.row->bound);
        return NULL;
    }
    all = atomic_fetch_add(&attack.all, 1) + 1;
    own = atomic_fetch_add(&attack.own[which], 1) + 1;
    atomic_fetch_add(&attack.taken[which], 1);
    atomic_fetch_add(&attack.faults, all > attack.row->most || own > attack.row->most_of_one);
    return held;
}

static void give_back(unsigned int which, struct held *held)
{
    if (!held)
        return;
    atomic_fetch_sub(&attack.all, 1);
    atomic_fetch_sub(&attack.own[which], 1);
    ledger_give_back(held);
}

/* At the end all hold at once, and as many as the bound allows. */
static void *run_thread(void *context)
{
    unsigned int which = *(const unsigned int *)context;
    struct held *held;

    pthread_barrier_wait(&attack.barrier);
    for (int i = 0; i < N_ROUNDS; i++) {
        held = take(which);
        sched_yield();
        give_back(which, held);
    }
    pthread_barrier_wait(&attack.barrier);
    held = take(which);
    pthread_barrier_wait(&attack.barrier);
    if (attack.row->bound != BOUND_RATE && atomic_load(&attack.all) != attack.row->most)
        atomic_fetch_add(&attack.faults, 1);
    pthread_barrier_wait(&attack.barrier);
    give_back(which, held);
    return NULL;
}

static void begin(const struct row *row)
{
    const struct ledger_bounds bounds = {
        .runs = 8, .agents = 4, .memory = 10, .share = 50, .disk_left = disk_left, .now_us = now
    };

    memset(&attack, 0, sizeof(attack));
    attack.row = row;
    ledger_open(&attack.ledger, &bounds);
    ledger_set_tenants(&attack.ledger, row->tenants);
    pthread_barrier_init(&attack.barrier, NULL, N_THREADS);
    for (unsigned int i = 0; i < 2; i++) {
        grant_init_token(&attack.grants[i]);
        snprintf(attack.grants[i].name, sizeof(attack.grants[i].name), "tenant%u", i);
        attack.grants[i].sessions = 3;
        attack.grants[i].per_minute = RATE;
    }
}

static void assert_all_came_back(void)
{
    for (unsigned int i = 0; i < 3; i++) {
        const struct need used = ledger_used(&attack.ledger, i < 2 ? attack.grants[i].name : NULL);

        assert_int_equal(used.runs + used.sessions + used.agents + used.memory + used.disk, 0);
    }
}

static void no_bound_is_passed_by_many_at_once(void **state)
{
    static unsigned int which[N_THREADS];
    pthread_t threads[N_THREADS];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin(&rows[i]);
        for (unsigned int k = 0; k < N_THREADS; k++) {
            which[k] = k % 2;
            assert_int_equal(pthread_create(&threads[k], NULL, run_thread, &which[k]), 0);
        }
        for (unsigned int k = 0; k < N_THREADS; k++)
            pthread_join(threads[k], NULL);
        if (attack.faults)
            fail_msg("%s: %u times", rows[i].name, attack.faults);
        for (unsigned int k = 0; k < 2; k++) {
            const struct ledger_totals totals =
                ledger_totals(&attack.ledger, attack.grants[k].name);

            assert_int_equal(totals.refused + attack.taken[k], N_THREADS / 2 * (N_ROUNDS + 1));
            if (rows[i].bound == BOUND_RATE) {
                assert_int_equal(attack.taken[k], RATE);
                assert_int_equal(totals.starts, RATE);
            }
        }
        assert_all_came_back();
        pthread_barrier_destroy(&attack.barrier);
        ledger_close(&attack.ledger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bound_is_passed_by_many_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
