/* sandbox-run-publish: passes connections from the host's loopback to a port of the sandbox's.
 *
 * Runs outside, once for each run with published ports.  Accepts from listeners that the supervisor
 * made, and connects sockets that init made in the sandbox's network namespace.
 *
 *   Privilege:   none; the user's own, or a user without rights where that would be root.
 *   Descriptors: enum publish_fd, listeners, sockets of the sandbox, accepted connections.
 *   (1) It is confined before it reads anything that the program sent.
 *   (2) It makes no socket and connects only those of the sandbox, which the filter holds to.
 *   (3) What either side can make it hold is bounded by the number of these sockets.
 *   (4) It ends when the supervisor says so or is gone. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/helper_confine.h"
#include "publish/publish_internal.h"

#define TICK_US 1000000
#define CLOSING_TICK_US 10000 /* while a socket inside still sends */
#define DRAIN_US 200000
#define LOOK_US 2000   /* between two readings of the CPU time     */
#define BURST_US 10000 /* of CPU time, before --cpus slows publish */

struct config {
    uint32_t uid, gid;
    const void *filter;
    size_t filter_size;
    const char *test_without;
};

/* Publish exits only here. */
static void __attribute__((noreturn)) publish_exit(int status)
{
    _exit(status);
}

static void __attribute__((noreturn)) fail(struct publish_page *page, const sbr_error *err)
{
    page->error = *err;
    publish_exit(1);
}

static struct publish_page *map_page(void)
{
    void *page = mmap(NULL, sizeof(struct publish_page), PROT_READ | PROT_WRITE, MAP_SHARED,
                      PUBLISH_PAGE, 0);

    close(PUBLISH_PAGE);
    if (page == MAP_FAILED)
        return NULL;
    return page;
}

static void read_listeners(struct publisher *publisher, struct buf_reader *in)
{
    uint32_t n = buf_reader_u32(in);

    if (n > PUBLISH_LISTENERS)
        in->failed = true;
    for (uint32_t i = 0; !in->failed && i < n; i++) {
        struct publish_listener *one = &publisher->listeners[i];
        uint32_t rule = buf_reader_u32(in), port = buf_reader_u32(in);

        if (rule >= PUBLISH_MAX || port == 0 || port > UINT16_MAX)
            in->failed = true;
        *one = (struct publish_listener){ .publisher = publisher,
                                          .rule = rule,
                                          .inside = (uint16_t)port };
        one->watch = loop_watch_of(PUBLISH_LISTENER + (int)i, carry_accept, one);
        publisher->n_listeners++;
    }
}

static int read_config(struct publisher *publisher, struct config *ret, sbr_error *err)
{
    struct buf_reader in = { 0 };
    struct stat st;

    if (fstat(PUBLISH_CONFIG, &st) < 0 || st.st_size == 0)
        return err_set(err, SBR_E_BUG, "publish", "there are no ports");
    in.len = (size_t)st.st_size;
    in.data = mmap(NULL, in.len, PROT_READ, MAP_PRIVATE, PUBLISH_CONFIG, 0);
    if (in.data == MAP_FAILED)
        return err_set_errno(err, "publish", "cannot map the ports");
    close(PUBLISH_CONFIG);
    read_listeners(publisher, &in);
    publisher->pace = (struct pace){ .share = buf_reader_u64(&in), .burst_us = BURST_US };
    ret->uid = buf_reader_u32(&in);
    ret->gid = buf_reader_u32(&in);
    ret->filter = buf_reader_bytes(&in, &ret->filter_size);
    ret->test_without = buf_reader_string(&in);
    if (in.failed)
        return err_set(err, SBR_E_BUG, "publish", "the ports do not read well");
    if (publisher->pace.share == UINT64_MAX)
        publisher->pace.share = 0; /* the program has all CPUs */
    return 0;
}

/* For tests that show what confinement prevents. */
static bool leaves_out(const struct config *config, const char *defence)
{
#ifdef SBR_TEST_HOOKS
    return config->test_without && strstr(config->test_without, defence);
#else
    (void)config;
    (void)defence;
    return false;
#endif
}

#ifdef SBR_TEST_HOOKS
static bool turn(int fd, uint16_t port)
{
    const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
    const struct sockaddr_in host = { .sin_family = AF_INET,
                                      .sin_port = htons(port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return connect(fd, &nowhere, sizeof(nowhere)) == 0 &&
           (connect(fd, (const struct sockaddr *)&host, sizeof(host)) == 0 || errno == EINPROGRESS);
}

/* What a program does that has taken publish over: it wants to reach a port of the host's that
 * has the number of the one inside.  The client gets a report, unless its own connection was
 * turned to the host's port, which gets a greeting then. */
static void act_taken_over(void *context, uint32_t events)
{
    const struct publish_listener *listener = context;
    int fd = fd_accept(listener->watch.fd, 0);
    bool made = socket(AF_INET, SOCK_STREAM, 0) >= 0, opened = open("/etc/passwd", O_RDONLY) >= 0;
    bool turned = turn(listener->watch.fd, listener->inside);
    bool replaced = dup2(fd, PUBLISH_FIRST_SOCKET + 1) >= 0 || close(PUBLISH_FIRST_SOCKET) == 0;
    char report[100];
    int n;

    (void)events;
    if (turn(fd, listener->inside)) {
        (void)!send(fd, "taken over\n", 11, MSG_NOSIGNAL);
        publish_exit(0);
    }
    n = snprintf(report, sizeof(report), "socket %d, file %d, listener %d, replaced %d\n", made,
                 opened, turned, replaced);
    (void)!send(fd, report, (size_t)n, MSG_NOSIGNAL);
    publish_exit(0);
}
#endif

static int receive_sockets(struct publisher *publisher, sbr_error *err)
{
    struct pollfd fds[] = { { .fd = PUBLISH_LINK, .events = POLLIN },
                            { .fd = PUBLISH_ALIVE, .events = POLLIN } };
    struct publish_message message = { 0 };

    while (!message.last) {
        int sockets[FD_MAX_PASSED];
        size_t n;

        while (poll(fds, ARRAY_LEN(fds), -1) < 0)
            if (errno != EINTR)
                publish_exit(1);
        if (!(fds[0].revents & POLLIN) || fd_receive(PUBLISH_LINK, &message, sizeof(message),
                                                     sockets, &n) != (ssize_t)sizeof(message))
            publish_exit(0); /* there will be no run */
        if (n != message.n)
            return err_set(err, SBR_E_BUG, "publish", "a message of another form");
        for (size_t i = 0; i < n; i++)
            if (inside_sockets_add(&publisher->sockets, sockets[i], message.v6) < 0)
                return err_set_errno(err, "publish", "cannot keep the sockets for connections");
    }
    close(PUBLISH_LINK);
    if (inside_sockets_seal(&publisher->sockets) < 0)
        return err_set_errno(err, "publish", "cannot keep the sockets for connections");
    return 0;
}

static int prepare(struct publisher *publisher, const struct config *config, sbr_error *err)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    bool confined = !leaves_out(config, "publish-confine");

    (void)sigaction(SIGPIPE, &ignore, NULL);
    link_init(&publisher->carries);
    for (size_t i = 0; i < PUBLISH_MAX; i++) {
        publisher->in[i] = (struct pump_meter){ &publisher->page->rules[i].bytes_in, UINT64_MAX };
        publisher->out[i] = (struct pump_meter){ &publisher->page->rules[i].bytes_out, UINT64_MAX };
    }
    if (confined && helper_confine_process(config->uid, config->gid, NULL, err) < 0)
        return err->code;
    if (loop_init(&publisher->events, "publish", err) < 0 || receive_sockets(publisher, err) < 0)
        return err->code;
    return confined ? helper_confine_calls(config->filter, config->filter_size, err) : 0;
}

static int listen_all(struct publisher *publisher, const struct config *config, sbr_error *err)
{
    for (size_t i = 0; i < publisher->n_listeners; i++) {
#ifdef SBR_TEST_HOOKS
        if (leaves_out(config, "publish-honest"))
            publisher->listeners[i].watch.callback = act_taken_over;
#else
        (void)config;
#endif
        if (loop_add(&publisher->events, &publisher->listeners[i].watch, EPOLLIN) < 0)
            return err_set_errno(err, "publish", "cannot watch a port");
    }
    return 0;
}

static void supervisor_says(void *context, uint32_t events)
{
    struct publisher *publisher = context;

    (void)events;
    publisher->ending = true;
}

/* As egress does: work for the program takes CPU time that its cgroup does not count. */
static uint64_t keep_pace(struct publisher *publisher, uint64_t now_us)
{
    uint64_t used_us, rest_us;

    if (now_us - publisher->looked_us < LOOK_US)
        return 0;
    publisher->looked_us = now_us;
    used_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - publisher->started_us;
    rest_us = pace_spend(&publisher->pace, used_us - publisher->page->cpu_us, now_us);
    publisher->page->cpu_us = used_us;
    return rest_us;
}

static void rest_until_the_end(uint64_t rest_us)
{
    struct pollfd alive = { .fd = PUBLISH_ALIVE, .events = POLLIN | POLLRDHUP };

    if (rest_us)
        (void)poll(&alive, 1, (int)(rest_us / 1000) + 1);
}

static uint64_t longest_wait(const struct publisher *publisher)
{
    if (publisher->sockets.n_closing)
        return CLOSING_TICK_US;
    return carry_is_idle(publisher) ? LOOP_FOREVER : TICK_US;
}

static void serve(struct publisher *publisher)
{
    uint64_t next_us = 0;

    while (!publisher->ending) {
        uint64_t now_us = clock_now_us();

        inside_sockets_tick(&publisher->sockets, now_us);
        /* Without fds or memory the listeners rest until the next tick, or they would be tried
         * without a pause. */
        if (now_us >= next_us || (publisher->resting && !publisher->starved)) {
            carry_tick(publisher, now_us);
            next_us = now_us + TICK_US;
        }
        if (loop_turn(&publisher->events, longest_wait(publisher)) < 0)
            return;
        rest_until_the_end(keep_pace(publisher, clock_now_us()));
    }
}

/* The program has ended, but what it sent may still be on its way to clients. */
static void drain(struct publisher *publisher)
{
    uint64_t end_us = clock_now_us() + DRAIN_US, now_us;

    for (size_t i = 0; i < publisher->n_listeners; i++)
        loop_close(&publisher->events, &publisher->listeners[i].watch);
    publisher->n_listeners = 0;
    while ((now_us = clock_now_us()) < end_us && !carry_all_sent(publisher))
        if (loop_turn(&publisher->events, end_us - now_us) < 0)
            return;
}

int main(void)
{
    static struct publisher publisher;
    struct loop_watch alive = loop_watch_of(PUBLISH_ALIVE, supervisor_says, &publisher);
    struct publish_page *page = map_page();
    struct config config = { 0 };
    sbr_error err;

    if (!page)
        publish_exit(1);
    publisher.page = page;
    if (read_config(&publisher, &config, &err) < 0 || prepare(&publisher, &config, &err) < 0 ||
        listen_all(&publisher, &config, &err) < 0)
        fail(page, &err);
    if (loop_add(&publisher.events, &alive, EPOLLIN | EPOLLRDHUP) < 0) {
        err_set_errno(&err, "publish", "cannot watch the supervisor");
        fail(page, &err);
    }
    publisher.started_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
    serve(&publisher);
    loop_remove(&publisher.events, &alive);
    drain(&publisher);
    carry_give_up(&publisher);
    page->cpu_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - publisher.started_us;
    publish_exit(0);
}
