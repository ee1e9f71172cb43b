/* Places, turns and positions. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "engine/queue.h"

#define MANY 64

static struct queue queue;
static struct ticket tickets[MANY];

static void prepare(uint32_t slots, uint32_t depth, uint32_t per_caller)
{
    queue_init(&queue, slots, depth, per_caller);
    for (size_t i = 0; i < MANY; i++)
        queue_ticket_init(&tickets[i]);
}

static void leave_all(void)
{
    for (size_t i = 0; i < MANY; i++)
        queue_leave(&queue, &tickets[i]);
    assert_int_equal(queue.n_running, 0);
    assert_int_equal(queue.n_waiting, 0);
    assert_true(link_is_alone(&queue.known));
    assert_true(link_is_alone(&queue.ring));
}

static void so_many_run_as_there_are_places(void **state)
{
    (void)state;
    prepare(2, 2, 2);
    assert_int_equal(queue_ask(&queue, &tickets[0], "a"), QUEUE_ADMITTED);
    assert_int_equal(queue_ask(&queue, &tickets[1], "b"), QUEUE_ADMITTED);
    assert_int_equal(queue_ask(&queue, &tickets[2], "a"), QUEUE_WAITS);
    assert_int_equal(queue_ask(&queue, &tickets[3], "b"), QUEUE_WAITS);
    assert_int_equal(queue_ask(&queue, &tickets[4], "c"), QUEUE_FULL);
    assert_int_equal(tickets[4].state, TICKET_NONE);
    assert_null(queue_next(&queue));
    queue_leave(&queue, &tickets[1]);
    assert_ptr_equal(queue_next(&queue), &tickets[2]);
    assert_null(queue_next(&queue));
    leave_all();
}

static enum queue_answer ask_with(size_t which, const char *caller, uint64_t memory)
{
    tickets[which].memory = memory;
    return queue_ask(&queue, &tickets[which], caller);
}

static void memory_is_reserved_and_nobody_overtakes(void **state)
{
    (void)state;
    prepare(8, MANY, 8);
    queue.memory = 10;
    assert_int_equal(ask_with(0, "a", 6), QUEUE_ADMITTED);
    assert_int_equal(ask_with(1, "a", 3), QUEUE_ADMITTED);
    assert_int_equal(ask_with(2, "b", 5), QUEUE_WAITS);
    assert_int_equal(ask_with(3, "c", 1), QUEUE_WAITS); /* it would fit, but is not next */
    queue_leave(&queue, &tickets[1]);
    assert_null(queue_next(&queue));
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[2]);
    assert_ptr_equal(queue_next(&queue), &tickets[3]);
    assert_int_equal(queue.memory_running, 6);
    assert_int_equal(ask_with(4, "a", 5), QUEUE_WAITS);
    queue_leave(&queue, &tickets[4]); /* who leaves holds up no other */
    assert_null(queue_next(&queue));
    assert_int_equal(ask_with(5, "c", 4), QUEUE_ADMITTED);
    leave_all();
    assert_int_equal(queue.memory_running, 0);
}

static void a_run_that_needs_all_memory_runs_alone(void **state)
{
    (void)state;
    prepare(8, MANY, 8);
    queue.memory = 10;
    assert_int_equal(ask_with(0, "a", UINT64_MAX), QUEUE_ADMITTED);
    assert_int_equal(ask_with(1, "b", 1), QUEUE_WAITS);
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[1]);
    leave_all();
}

/* Of one of several callers, with half of everything. */
static enum queue_answer ask_half(size_t which, const char *caller, uint64_t memory)
{
    tickets[which].share = 50;
    return ask_with(which, caller, memory);
}

static void one_of_several_leaves_slots_before_others_ask(void **state)
{
    (void)state;
    prepare(8, MANY, 8);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(ask_half(i, "a", 0), QUEUE_ADMITTED);
    assert_int_equal(ask_half(4, "a", 0), QUEUE_WAITS); /* though nobody else is there */
    assert_null(queue_next(&queue));
    for (size_t i = 5; i < 9; i++)
        assert_int_equal(ask_half(i, "b", 0), QUEUE_ADMITTED);
    queue_leave(&queue, &tickets[5]);
    assert_null(queue_next(&queue)); /* what b leaves is not a's */
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[4]);
    leave_all();
}

static void one_of_several_leaves_memory(void **state)
{
    (void)state;
    prepare(8, MANY, 8);
    queue.memory = 100;
    assert_int_equal(ask_half(0, "a", 30), QUEUE_ADMITTED);
    assert_int_equal(ask_half(1, "a", 30), QUEUE_WAITS);
    assert_int_equal(ask_half(2, "a", 10), QUEUE_WAITS); /* behind the one before it */
    assert_int_equal(ask_half(3, "b", 50), QUEUE_ADMITTED);
    assert_int_equal(ask_half(4, "c", 20), QUEUE_ADMITTED);
    queue_leave(&queue, &tickets[3]);
    assert_null(queue_next(&queue));
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[1]);
    assert_ptr_equal(queue_next(&queue), &tickets[2]);
    leave_all();
    assert_int_equal(queue.memory_running, 0);
}

static void one_of_several_leaves_room_to_wait(void **state)
{
    (void)state;
    prepare(2, 4, 2);
    assert_int_equal(ask_half(0, "a", 0), QUEUE_ADMITTED);
    assert_int_equal(ask_half(1, "a", 0), QUEUE_WAITS);
    assert_int_equal(ask_half(2, "a", 0), QUEUE_WAITS);
    assert_int_equal(ask_half(3, "a", 0), QUEUE_PART_FULL);
    assert_int_equal(tickets[3].state, TICKET_NONE);
    assert_int_equal(ask_half(4, "b", 0), QUEUE_ADMITTED);
    assert_int_equal(ask_half(5, "b", 0), QUEUE_WAITS);
    assert_int_equal(ask_half(6, "c", 0), QUEUE_WAITS);
    assert_int_equal(ask_half(7, "c", 0), QUEUE_FULL);
    leave_all();
}

static void a_run_larger_than_a_part_takes_what_others_leave(void **state)
{
    (void)state;
    prepare(8, MANY, 8);
    queue.memory = 80;
    assert_int_equal(ask_half(0, "b", 30), QUEUE_ADMITTED);
    assert_int_equal(ask_half(1, "a", 60), QUEUE_WAITS);
    assert_int_equal(ask_half(2, "c", 30), QUEUE_ADMITTED); /* it holds up nobody */
    assert_int_equal(ask_half(3, "c", 20), QUEUE_WAITS);
    queue_leave(&queue, &tickets[0]);
    assert_null(queue_next(&queue));
    queue_leave(&queue, &tickets[2]);
    assert_ptr_equal(queue_next(&queue), &tickets[1]);
    assert_ptr_equal(queue_next(&queue), &tickets[3]); /* the rest is for others */
    assert_int_equal(ask_half(4, "a", 1), QUEUE_WAITS);
    queue_leave(&queue, &tickets[3]);
    assert_null(queue_next(&queue)); /* a holds more than its part */
    queue_leave(&queue, &tickets[1]);
    assert_ptr_equal(queue_next(&queue), &tickets[4]);
    assert_int_equal(ask_half(5, "a", 60), QUEUE_WAITS); /* a holds something */
    queue_leave(&queue, &tickets[4]);
    assert_ptr_equal(queue_next(&queue), &tickets[5]);
    leave_all();
}

static void one_of_several_never_gets_all_memory(void **state)
{
    (void)state;
    prepare(8, MANY, 8);
    queue.memory = 80;
    assert_int_equal(ask_half(0, "a", UINT64_MAX), QUEUE_ADMITTED);
    assert_int_equal(queue.memory_running, 70);
    assert_int_equal(ask_half(1, "b", 10), QUEUE_ADMITTED);
    leave_all();
}

/* A session that was made before there was another tenant asks without a share. */
static void a_caller_stays_one_of_several(void **state)
{
    (void)state;
    prepare(4, MANY, 4);
    assert_int_equal(queue_ask(&queue, &tickets[0], "a"), QUEUE_ADMITTED);
    assert_int_equal(queue_ask(&queue, &tickets[1], "a"), QUEUE_ADMITTED);
    assert_int_equal(queue_ask(&queue, &tickets[2], "a"), QUEUE_ADMITTED); /* it is alone */
    assert_int_equal(ask_half(3, "a", 0), QUEUE_WAITS);
    assert_int_equal(queue_ask(&queue, &tickets[4], "a"), QUEUE_WAITS);
    queue_leave(&queue, &tickets[0]);
    assert_null(queue_next(&queue));
    assert_int_equal(ask_half(5, "b", 0), QUEUE_ADMITTED);
    leave_all();
}

static void a_part_is_at_least_one_and_at_most_what_every_caller_has(void **state)
{
    (void)state;
    prepare(1, 1, 1);
    assert_int_equal(ask_half(0, "a", 0), QUEUE_ADMITTED);
    assert_int_equal(ask_half(1, "a", 0), QUEUE_WAITS);
    leave_all();
    prepare(8, 0, 2);
    assert_int_equal(ask_half(0, "a", 0), QUEUE_ADMITTED);
    assert_int_equal(ask_half(1, "a", 0), QUEUE_ADMITTED);
    assert_int_equal(ask_half(2, "a", 0), QUEUE_FULL);
    leave_all();
}

static void callers_take_turns(void **state)
{
    (void)state;
    prepare(1, MANY, 1);
    assert_int_equal(queue_ask(&queue, &tickets[0], "busy"), QUEUE_ADMITTED);
    for (size_t i = 1; i < 10; i++)
        assert_int_equal(queue_ask(&queue, &tickets[i], "busy"), QUEUE_WAITS);
    assert_int_equal(queue_ask(&queue, &tickets[10], "modest"), QUEUE_WAITS);
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[1]);
    queue_leave(&queue, &tickets[1]);
    assert_ptr_equal(queue_next(&queue), &tickets[10]);
    queue_leave(&queue, &tickets[10]);
    assert_ptr_equal(queue_next(&queue), &tickets[2]);
    leave_all();
}

static void a_caller_has_no_more_places_than_he_may(void **state)
{
    (void)state;
    prepare(4, MANY, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(queue_ask(&queue, &tickets[i], "a"), QUEUE_ADMITTED);
    assert_int_equal(queue_ask(&queue, &tickets[2], "a"), QUEUE_WAITS);
    assert_null(queue_next(&queue)); /* though places are free */
    assert_int_equal(queue_ask(&queue, &tickets[3], "b"), QUEUE_ADMITTED);
    queue_leave(&queue, &tickets[3]);
    assert_null(queue_next(&queue));
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[2]);
    leave_all();
}

static void one_that_waits_may_leave(void **state)
{
    (void)state;
    prepare(1, MANY, 1);
    for (size_t i = 0; i < 4; i++)
        (void)queue_ask(&queue, &tickets[i], i == 2 ? "b" : "a");
    queue_leave(&queue, &tickets[2]);
    queue_leave(&queue, &tickets[2]); /* a second time is none */
    assert_int_equal(queue.n_waiting, 2);
    queue_leave(&queue, &tickets[0]);
    assert_ptr_equal(queue_next(&queue), &tickets[1]);
    leave_all();
}

static uint32_t positions[MANY];

static void note(void *context, struct ticket *ticket, uint32_t position)
{
    (void)context;
    positions[ticket - tickets] = position;
}

static void a_position_is_the_number_of_those_that_go_before(void **state)
{
    static const char *const callers[] = { "x", "a", "a", "b", "a", "c", "b" };

    (void)state;
    prepare(1, MANY, 1);
    for (size_t i = 0; i < 7; i++)
        (void)queue_ask(&queue, &tickets[i], callers[i]);
    queue_positions(&queue, note, NULL);
    for (uint32_t expected = 0; expected < 6; expected++) {
        struct ticket *next;

        queue_leave(&queue, expected == 0 ? &tickets[0] : &tickets[positions[0]]);
        next = queue_next(&queue);
        assert_non_null(next);
        assert_int_equal(positions[next - tickets], expected);
        positions[0] = (uint32_t)(next - tickets);
    }
    leave_all();
}

static void a_long_name_is_cut_and_still_one_caller(void **state)
{
    char name[200];

    (void)state;
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    prepare(4, MANY, 1);
    assert_int_equal(queue_ask(&queue, &tickets[0], name), QUEUE_ADMITTED);
    assert_int_equal(queue_ask(&queue, &tickets[1], name), QUEUE_WAITS);
    leave_all();
}

/* Half the callers are of several, two thirds of the tickets say so, and some need much. */
static void choose_part(struct ticket *ticket, uint32_t seed)
{
    bool several = (seed >> 20) % 5 < 3;

    ticket->share = several && (seed >> 4) % 3 ? 40 : 0;
    ticket->memory = (seed >> 12) % 11 ? (seed >> 12) % 300 : 900;
}

static void check_sums(void)
{
    uint64_t memory = 0;

    list_each(at, &queue.known)
        memory += link_owner(at, struct queue_caller, known)->memory_running;
    assert_int_equal(memory, queue.memory_running);
    assert_true(memory <= queue.memory);
}

/* Those that run end one after another; then those that waited have all run. */
static void end_all_in_turn(void)
{
    for (size_t i = 0; i < MANY * MANY && queue.n_running; i++) {
        struct ticket *ticket = &tickets[i % MANY];

        if (ticket->state == TICKET_ADMITTED)
            queue_leave(&queue, ticket);
        while (queue_next(&queue))
            continue;
    }
    assert_int_equal(queue.n_waiting, 0);
}

static void shares_hold_in_any_order(void **state)
{
    uint32_t seed = 7;

    (void)state;
    prepare(10, 20, 10);
    queue.memory = 1000;
    for (int step = 0; step < 20000; step++) {
        struct ticket *ticket, *next;
        char name[2] = { 0 };

        seed = seed * 1664525u + 1013904223u;
        ticket = &tickets[(seed >> 8) % MANY];
        name[0] = (char)('a' + (seed >> 20) % 5);
        if (ticket->state == TICKET_NONE) {
            choose_part(ticket, seed);
            (void)queue_ask(&queue, ticket, name);
        } else {
            queue_leave(&queue, ticket);
        }
        while ((next = queue_next(&queue))) {
            const struct queue_caller *caller = next->caller;

            if (!caller->share)
                continue;
            assert_true(caller->n_running <= 4);
            assert_true(caller->memory_running <= 400 || caller->n_running == 1);
        }
        check_sums();
        if (step % 1000 == 999)
            end_all_in_turn();
    }
    leave_all();
    assert_int_equal(queue.memory_running, 0);
}

/* Whatever happens, the numbers add up, nobody is lost, and nobody waits who could run. */
static void it_holds_in_any_order(void **state)
{
    uint32_t seed = 1;

    (void)state;
    prepare(5, 20, 3);
    for (int step = 0; step < 20000; step++) {
        uint32_t running = 0, waiting = 0;
        struct ticket *ticket;
        char name[2] = { 0 };

        seed = seed * 1664525u + 1013904223u;
        ticket = &tickets[(seed >> 8) % MANY];
        name[0] = (char)('a' + (seed >> 20) % 5);
        if (ticket->state != TICKET_NONE)
            queue_leave(&queue, ticket);
        else
            (void)queue_ask(&queue, ticket, name);
        while (queue_next(&queue))
            continue;
        for (size_t i = 0; i < MANY; i++) {
            running += tickets[i].state == TICKET_ADMITTED;
            waiting += tickets[i].state == TICKET_WAITS;
            if (tickets[i].state == TICKET_WAITS)
                assert_true(queue.n_running == 5 || tickets[i].caller->n_running == 3);
        }
        assert_int_equal(running, queue.n_running);
        assert_int_equal(waiting, queue.n_waiting);
        assert_true(running <= 5 && waiting <= 20);
    }
    leave_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_run_as_there_are_places),
        cmocka_unit_test(memory_is_reserved_and_nobody_overtakes),
        cmocka_unit_test(a_run_that_needs_all_memory_runs_alone),
        cmocka_unit_test(one_of_several_leaves_slots_before_others_ask),
        cmocka_unit_test(one_of_several_leaves_memory),
        cmocka_unit_test(one_of_several_leaves_room_to_wait),
        cmocka_unit_test(a_run_larger_than_a_part_takes_what_others_leave),
        cmocka_unit_test(one_of_several_never_gets_all_memory),
        cmocka_unit_test(a_caller_stays_one_of_several),
        cmocka_unit_test(a_part_is_at_least_one_and_at_most_what_every_caller_has),
        cmocka_unit_test(callers_take_turns),
        cmocka_unit_test(a_caller_has_no_more_places_than_he_may),
        cmocka_unit_test(one_that_waits_may_leave),
        cmocka_unit_test(a_position_is_the_number_of_those_that_go_before),
        cmocka_unit_test(a_long_name_is_cut_and_still_one_caller),
        cmocka_unit_test(shares_hold_in_any_order),
        cmocka_unit_test(it_holds_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
