/* sandbox-run-egress: the only connection of a sandbox's network namespace to the outside.
 *
 * Runs outside, in the host's network namespace, once for each run that may reach anything.  Holds
 * the sockets that all traffic inside ends at, decides (decide.c), looks names up (resolver.c),
 * dials and relays (connection.c, flow.c), counts and notes refusals (account.c).
 *
 *   Privilege:   none; the user's own, or a user without rights where that would be root.
 *   Descriptors: enum egress_fd, sockets of the sandbox, sockets of its own.
 *   (1) It is confined before it reads anything that the program sent.
 *   (2) The address that was decided on is the address that is dialled.
 *   (3) What the program can make it hold is bounded: connections, flows, names, waiting datagrams.
 *   (4) It ends when the supervisor says so or is gone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/helper_confine.h"
#include "base/landlock_calls.h"
#include "egress/asker.h"
#include "egress/dns_upstream.h"
#include "egress/egress_internal.h"
#include "egress/orders.h"
#include "model/limits.h"

#define TICK_US 1000000
#define DRAIN_US 200000
#define LOOK_US 2000   /* between two readings of the CPU time    */
#define BURST_US 10000 /* of CPU time, before --cpus slows egress */

struct config {
    uint32_t uid, gid;
    const void *filter;
    size_t filter_size;
    const char *test_without;
};

/* Egress exits only here. */
static void __attribute__((noreturn)) egress_exit(int status)
{
    _exit(status);
}

static void __attribute__((noreturn)) fail(struct egress_page *page, const sbr_error *err)
{
    page->error = *err;
    egress_exit(1);
}

static struct egress_page *map_page(void)
{
    void *page =
        mmap(NULL, sizeof(struct egress_page), PROT_READ | PROT_WRITE, MAP_SHARED, EGRESS_PAGE, 0);

    close(EGRESS_PAGE);
    if (page == MAP_FAILED)
        return NULL;
    return page;
}

static int read_config(struct egress *egress, struct config *ret, sbr_error *err)
{
    struct buf_reader in = { 0 };
    struct stat st;

    if (fstat(EGRESS_CONFIG, &st) < 0 || st.st_size == 0)
        return err_set(err, SBR_E_BUG, "egress", "there are no rules");
    in.len = (size_t)st.st_size;
    in.data = mmap(NULL, in.len, PROT_READ, MAP_PRIVATE, EGRESS_CONFIG, 0);
    if (in.data == MAP_FAILED)
        return err_set_errno(err, "egress", "cannot map the rules");
    close(EGRESS_CONFIG);
    if (network_decode(&in, &egress->network, err) < 0)
        return err->code;
    egress->has_secrets = buf_reader_u32(&in) != 0;
    if (network_decode(&in, &egress->handed, err) < 0 ||
        network_proxy_decode(&in, &egress->proxy, err) < 0)
        return err->code;
    egress->max_connections = buf_reader_u64(&in);
    egress->max_bytes[DIRECTION_IN] = buf_reader_u64(&in);
    egress->max_bytes[DIRECTION_OUT] = buf_reader_u64(&in);
    egress->meters[DIRECTION_IN] =
        (struct pump_meter){ &egress->page->bytes_in, egress->max_bytes[DIRECTION_IN] };
    egress->meters[DIRECTION_OUT] =
        (struct pump_meter){ &egress->page->bytes_out, egress->max_bytes[DIRECTION_OUT] };
    egress->pace = (struct pace){ .share = buf_reader_u64(&in), .burst_us = BURST_US };
    ret->uid = buf_reader_u32(&in);
    ret->gid = buf_reader_u32(&in);
    ret->filter = buf_reader_bytes(&in, &ret->filter_size);
    ret->test_without = buf_reader_string(&in);
    if (in.failed)
        return err_set(err, SBR_E_BUG, "egress", "the rules do not read well");
    if (egress->pace.share == LIMIT_NONE)
        egress->pace.share = 0;
    return 0;
}

/* For tests that show what confinement prevents. */
static bool stays_free(const struct config *config)
{
#ifdef SBR_TEST_HOOKS
    return config->test_without && strstr(config->test_without, "egress-confine");
#else
    (void)config;
    return false;
#endif
}

static void lookup_ready(void *context, uint32_t events)
{
    const struct egress *egress = context;

    (void)events;
    resolver_dispatch(egress->resolver);
}

static void upstream_ready(void *context, uint32_t events)
{
    struct egress *egress = context;

    (void)events;
    dns_upstream(&egress->dns);
}

/* The resolver opens and closes this file descriptor as needed. */
static void watch_upstream(struct egress *egress)
{
    struct loop_watch *watch = &egress->upstream_watch;

    if (watch->fd == egress->dns.upstream_fd)
        return;
    loop_remove(&egress->events, watch);
    watch->fd = egress->dns.upstream_fd;
    if (watch->fd >= 0)
        (void)loop_add(&egress->events, watch, EPOLLIN);
}

static void answer(void *context, const struct dns_asker *kept, const uint8_t *message, size_t len)
{
    struct egress *egress = context;
    struct asker asker;

    memcpy(&asker, kept->bytes, sizeof(asker));
    if (asker.stream)
        dns_stream_answer(egress, asker.stream, message, len);
    else
        flow_answer(egress, &asker.from, message, len);
}

static void name_refused(void *context, const char *name, const struct decision *why)
{
    struct denial one = { .kind = DENIAL_NAME, .source = why->source };

    snprintf(one.target, sizeof(one.target), "%s", name);
    snprintf(one.rule, sizeof(one.rule), "%s", why->rule);
    snprintf(one.remedy, sizeof(one.remedy), "%s", why->remedy);
    account_deny(context, &one);
}

/* The installer wants no network any more, and what it starts gets none. */
static void network_close(void *context)
{
    struct egress *egress = context;

    network_done(&egress->network);
    egress->network = (struct network){ .mode = NETWORK_LOCALHOST, .closes = true, .closed = true };
    connection_reset_all(egress);
    flow_close_all(egress);
}

static void name_looked_up(void *context)
{
    const struct egress *egress = context;

    atomic_fetch_add(&egress->page->names, 1);
}

static void allow_reading(int ruleset, const char *path)
{
    scoped_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) /* a missing directory needs no rule */
        (void)landlock_allow(ruleset, fd, LANDLOCK_READ_FILE | LANDLOCK_READ_DIR);
}

/* resolv.conf may be a link to a file that gets replaced, so the rule is for its directory. */
static void allow_resolver_files(int ruleset)
{
    char path[PATH_MAX], *slash;

    allow_reading(ruleset, "/etc");
    if (!realpath("/etc/resolv.conf", path))
        return;
    slash = strrchr(path, '/');
    if (slash != path) {
        *slash = '\0';
        allow_reading(ruleset, path);
    }
}

/* Port 0: no word of NO_PROXY with a port is for it, and its connections find its addresses. */
static bool by_proxy(void *context, const char *name)
{
    const struct egress *egress = context;

    return network_proxy_is_for(&egress->proxy, name, 0);
}

static int prepare(struct egress *egress, const struct config *config, sbr_error *err)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    bool confined = !stays_free(config);

    (void)sigaction(SIGPIPE, &ignore, NULL);
    link_init(&egress->connections);
    link_init(&egress->streams);
    link_init(&egress->flows);
    link_init(&egress->held);
    if (confined && helper_confine_process(config->uid, config->gid, allow_resolver_files, err) < 0)
        return err->code;
    if (loop_init(&egress->events, "egress", err) < 0 || own_open(&egress->own_fd, err) < 0 ||
        resolver_start(&egress->resolver, err) < 0)
        return err->code;
    egress->resolver_watch = (struct loop_watch){ .fd = resolver_fd(egress->resolver),
                                                  .callback = lookup_ready,
                                                  .context = egress };
    egress->upstream_watch =
        (struct loop_watch){ .fd = -1, .callback = upstream_ready, .context = egress };
    if (loop_add(&egress->events, &egress->resolver_watch, EPOLLIN) < 0)
        return err_set_errno(err, "egress", "cannot wait for the resolver");
    egress->dns = (struct dns){ .network = &egress->network,
                                .names = &egress->names,
                                .resolver = egress->resolver,
                                .answer = answer,
                                .context = egress,
                                .refused = name_refused,
                                .looked_up = name_looked_up,
                                .elsewhere = by_proxy,
                                .close = network_close };
    dns_init(&egress->dns);
    return confined ? helper_confine_calls(config->filter, config->filter_size, err) : 0;
}

static int take_socket(struct egress *egress, uint32_t kind, int fd, sbr_error *err)
{
    struct listener *listener = &egress->listeners[egress->n_listeners];

    switch (kind) {
    case SOCKET_RAW4:
        egress->raw4_fd = fd;
        return 0;
    case SOCKET_RAW6:
        egress->raw6_fd = fd;
        return 0;
    case SOCKET_TCP:
    case SOCKET_UDP:
    case SOCKET_FORWARD:
        break;
    default:
        return err_set(err, SBR_E_BUG, "egress", "a socket of an unknown kind");
    }
    if (egress->n_listeners == EGRESS_MAX_SOCKETS)
        return err_set(err, SBR_E_BUG, "egress", "more than %d sockets", EGRESS_MAX_SOCKETS);
    *listener = (struct listener){ .kind = kind,
                                   .egress = egress,
                                   .watch = { .fd = fd,
                                              .callback = kind == SOCKET_UDP ? flow_receive
                                                                             : connection_accept,
                                              .context = listener } };
    if (loop_add(&egress->events, &listener->watch, EPOLLIN) < 0)
        return err_set_errno(err, "egress", "cannot watch a socket");
    egress->n_listeners++;
    return 0;
}

/* Waits for a message on the link; false when the supervisor ends the run before. */
static bool wait_for_sockets(void)
{
    struct pollfd fds[] = { { .fd = EGRESS_LINK, .events = POLLIN },
                            { .fd = EGRESS_ALIVE, .events = POLLIN } };

    while (poll(fds, ARRAY_LEN(fds), -1) < 0)
        if (errno != EINTR)
            return false;
    return fds[0].revents & POLLIN;
}

static int receive_sockets(struct egress *egress, sbr_error *err)
{
    struct egress_message message = { 0 };

    while (!message.last) {
        int fds[EGRESS_MESSAGE_FDS];
        size_t n;

        if (!wait_for_sockets() ||
            fd_receive(EGRESS_LINK, &message, sizeof(message), fds, &n) != (ssize_t)sizeof(message))
            egress_exit(0); /* there will be no run */
        if (n != message.n || message.way >= N_EGRESS_WAYS)
            return err_set(err, SBR_E_BUG, "egress", "a message of another form");
        for (size_t i = 0; i < n; i++)
            if (take_socket(egress, message.kinds[i], fds[i], err) < 0)
                return err->code;
    }
    close(EGRESS_LINK);
    egress->way = message.way;
    return 0;
}

static void supervisor_says(void *context, uint32_t events)
{
    struct egress *egress = context;
    char message[2048];
    ssize_t n = recv(EGRESS_ALIVE, message, sizeof(message), MSG_DONTWAIT);

    (void)events;
    if (n > 0)
        orders_obey(egress, message, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        egress->ending = true;
}

static void tick(struct egress *egress, uint64_t now_us)
{
    egress->due_us = UINT64_MAX; /* until a dial lowers it */
    connection_tick(egress, now_us);
    dns_stream_tick(egress, now_us);
    flow_tick(egress, now_us);
    dns_tick(&egress->dns, now_us);
}

/* True when nothing is open that times out. */
static bool is_idle(const struct egress *egress)
{
    return link_is_alone(&egress->connections) && link_is_alone(&egress->streams) &&
           link_is_alone(&egress->flows) && !egress->dns.forwards && !egress->starved &&
           egress->dns.due_us == UINT64_MAX;
}

/* Whole milliseconds: the filter of this process has no other call to wait with. */
static uint64_t wait_us(uint64_t until_us, uint64_t now_us)
{
    return until_us <= now_us ? 0 : ((until_us - now_us) / 1000 + 1) * 1000;
}

/* With that of sandbox-run-secrets, which works for the same program. */
static uint64_t cpu_used_us(const struct egress *egress)
{
    return clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - egress->started_us + egress->secrets_cpu_us;
}

/* Work for the program takes CPU time that its cgroup does not count.  The supervisor
 * counts it in the limit of CPU time; where the program has a share of the CPUs, egress has
 * one of the same size.  Returns how long to rest for that. */
static uint64_t keep_pace(struct egress *egress, uint64_t now_us)
{
    uint64_t used_us, rest_us;

    if (now_us - egress->looked_us < LOOK_US)
        return 0;
    egress->looked_us = now_us;
    used_us = cpu_used_us(egress);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): egress ends where there is no page */
    rest_us = pace_spend(&egress->pace, used_us - egress->page->cpu_us, now_us);
    egress->page->cpu_us = used_us;
    return rest_us;
}

static void rest_until_the_end(uint64_t rest_us)
{
    struct pollfd alive = { .fd = EGRESS_ALIVE, .events = POLLIN | POLLRDHUP };

    if (rest_us)
        (void)poll(&alive, 1, (int)(rest_us / 1000) + 1);
}

static void serve(struct egress *egress)
{
    uint64_t next_us = 0;

    while (!egress->ending) {
        uint64_t now_us = clock_now_us();
        uint64_t due_us;

        if (now_us >= next_us || now_us >= egress->due_us || now_us >= egress->dns.due_us) {
            tick(egress, now_us);
            next_us = now_us + TICK_US;
        }
        due_us = egress->due_us < next_us ? egress->due_us : next_us;
        due_us = egress->dns.due_us < due_us ? egress->dns.due_us : due_us;
        watch_upstream(egress);
        if (loop_turn(&egress->events, is_idle(egress) ? LOOP_FOREVER : wait_us(due_us, now_us)) <
            0)
            return;
        rest_until_the_end(keep_pace(egress, clock_now_us()));
    }
}

/* The program has ended, but what it sent may still be in listeners, in connections, or waiting for
 * a name.  All of it is passed on, unless that takes long: in time, or, where the program had a
 * share of the CPUs, in CPU time beyond one more burst and that share. */
static void drain(struct egress *egress)
{
    uint64_t end_us = clock_now_us() + DRAIN_US, now_us;

    egress->pace.debt_us = 0;
    connection_refuse_held(egress);
    while ((now_us = clock_now_us()) < end_us) {
        uint64_t rest_us = keep_pace(egress, now_us);
        int n;

        if (rest_us) {
            (void)poll(NULL, 0, (int)(wait_us(now_us + rest_us, now_us) / 1000));
            continue;
        }
        n = loop_turn(&egress->events, 0);
        if (n < 0 || (n == 0 && connection_all_sent(egress) && flow_all_sent(egress)))
            return;
        if (n > 0)
            continue;
        if (now_us >= egress->due_us)
            tick(egress, now_us);
        loop_turn(&egress->events,
                  wait_us(egress->due_us < end_us ? egress->due_us : end_us, now_us));
    }
}

int main(void)
{
    static struct egress egress = {
        .due_us = UINT64_MAX, .own_fd = -1, .raw4_fd = -1, .raw6_fd = -1
    };
    struct loop_watch alive = { .fd = EGRESS_ALIVE,
                                .callback = supervisor_says,
                                .context = &egress };
    struct egress_page *page = map_page();
    struct config config = { 0 };
    sbr_error err;

    if (!page)
        egress_exit(1);
    egress.page = page;
    if (read_config(&egress, &config, &err) < 0 || prepare(&egress, &config, &err) < 0 ||
        receive_sockets(&egress, &err) < 0 || hand_on_open(&egress, &err) < 0)
        fail(page, &err);
    if (loop_add(&egress.events, &alive, EPOLLIN | EPOLLRDHUP) < 0) {
        err_set_errno(&err, "egress", "cannot watch the supervisor");
        fail(page, &err);
    }
    egress.started_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
    page->way = egress.way;
    page->started = 1;
    serve(&egress);
    loop_remove(&egress.events, &alive);
    drain(&egress);
    connection_give_up(&egress);
    page->cpu_us = cpu_used_us(&egress);
    egress_exit(0);
}
