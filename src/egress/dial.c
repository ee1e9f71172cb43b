#include "egress/dial.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/pump.h"

void dial_interleave(struct address *addresses, unsigned int n)
{
    for (unsigned int at = 1; at < n; at++) {
        bool wants_v4 = !address_is_v4(&addresses[at - 1]);
        unsigned int found = at;
        struct address one;

        while (found < n && address_is_v4(&addresses[found]) != wants_v4)
            found++;
        if (found == n)
            return; /* the other family is used up */
        one = addresses[found];
        for (; found > at; found--)
            addresses[found] = addresses[found - 1];
        addresses[at] = one;
    }
}

static void attempt_close(struct attempt *attempt)
{
    if (attempt->watch.fd < 0)
        return;
    loop_close(attempt->dial->events, &attempt->watch);
    attempt->dial->n_open--;
}

void dial_stop(struct dial *dial)
{
    if (!dial->n_open)
        return;
    for (unsigned int i = 0; i < DIAL_AT_ONCE; i++)
        attempt_close(&dial->attempts[i]);
}

/* Closes the other attempts before the caller hears of the winner. */
static void win(struct attempt *attempt)
{
    struct dial *dial = attempt->dial;

    for (unsigned int i = 0; i < DIAL_AT_ONCE; i++)
        if (&dial->attempts[i] != attempt)
            attempt_close(&dial->attempts[i]);
    dial->n_open = 0;
    dial->done(dial->context, &attempt->watch);
}

static void attempt_ready(void *context, uint32_t events);

/* 1: connected, 0: under way, -1: not this address. */
static int attempt_start(struct attempt *attempt, const struct address *address)
{
    struct dial *dial = attempt->dial;
    struct sockaddr_storage to;
    socklen_t size = address_to_socket(address, dial->port, &to);
    int r;

    attempt->watch =
        (struct loop_watch){ .fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                                          0),
                             .callback = attempt_ready,
                             .context = attempt };
    if (attempt->watch.fd < 0)
        return -1;
    dial->n_open++;
    r = connect(attempt->watch.fd, (struct sockaddr *)&to, size);
    if ((r < 0 && errno != EINPROGRESS) ||
        loop_add(dial->events, &attempt->watch, PUMP_EVENTS) < 0) {
        attempt_close(attempt);
        return -1;
    }
    return r == 0;
}

static struct attempt *free_attempt(struct dial *dial)
{
    for (unsigned int i = 0; i < DIAL_AT_ONCE; i++)
        if (dial->attempts[i].watch.fd < 0)
            return &dial->attempts[i];
    return NULL;
}

static bool has_more(const struct dial *dial)
{
    return dial->next < dial->n && dial->n_open < DIAL_AT_ONCE;
}

/* Dials all addresses that are due.  The dial may be freed afterwards. */
static void go_on(struct dial *dial, uint64_t now_us)
{
    while (has_more(dial) && (dial->n_open == 0 || now_us >= dial->next_us)) {
        struct attempt *attempt = free_attempt(dial);
        int r = attempt_start(attempt, &dial->addresses[dial->next++]);

        if (r > 0) {
            win(attempt);
            return;
        }
        if (r < 0)
            continue;
        attempt->give_up_us = now_us + DIAL_GIVE_UP_US;
        dial->next_us = now_us + DIAL_NEXT_US;
    }
    if (dial->n_open == 0)
        dial->done(dial->context, NULL);
    else if (has_more(dial) && dial->next_us < *dial->due_us)
        *dial->due_us = dial->next_us;
}

static void attempt_ready(void *context, uint32_t events)
{
    struct attempt *attempt = context;
    struct dial *dial = attempt->dial;
    socklen_t size = sizeof(int);
    int error = 0;

    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
        return;
    if (getsockopt(attempt->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && !error) {
        win(attempt);
        return;
    }
    attempt_close(attempt);
    dial->next_us = 0; /* a failure is no reason to wait */
    go_on(dial, clock_now_us());
}

void dial_start(struct dial *dial, uint64_t now_us)
{
    for (unsigned int i = 0; i < DIAL_AT_ONCE; i++)
        dial->attempts[i] = (struct attempt){ .dial = dial, .watch.fd = -1 };
    dial->next = dial->n_open = 0;
    dial->next_us = now_us;
    go_on(dial, now_us);
}

void dial_tick(struct dial *dial, uint64_t now_us)
{
    for (unsigned int i = 0; i < DIAL_AT_ONCE; i++) {
        struct attempt *attempt = &dial->attempts[i];

        if (attempt->watch.fd < 0 || now_us < attempt->give_up_us)
            continue;
        attempt_close(attempt);
        dial->next_us = 0;
    }
    go_on(dial, now_us);
}
