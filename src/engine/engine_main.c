#include "engine/engine_main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signal_fd.h"
#include "engine/engine_internal.h"
#include "job/engine_socket.h"
#include "lib/runner.h"

#define SLOTS_PER_CPU 4
#define LEAST_SLOTS 16 /* runs that wait for something take no CPU */
#define SPARE_CLIENTS 64
#define MOST_READY 512
#define FDS_PER_STANDBY 24
#define IDLE_US (10 * 60 * 1000000ULL)
#define DRAIN_US (30 * 1000000ULL)
#define END_US (5 * 1000000ULL)
#define END_STEP_US 100000
#define WARM_US (15 * 1000000ULL)
#define MAINTENANCE_AT_LEAST_US 20000 /* also when events never stop */

/* Hundreds of sandboxes need thousands of fds.  Returns the new limit. */
static uint64_t raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

static uint64_t all_memory(void)
{
    struct sysinfo info;

    return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 4ULL << 30;
}

static void set_limits(struct engine *engine)
{
    const struct engine_config *config = &engine->config;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t descriptors = raise_descriptor_limit(), room;
    uint32_t slots = config->slots;

    engine->cpus = cpus > 0 ? (uint32_t)cpus : 1;
    if (!slots)
        slots = engine->cpus * SLOTS_PER_CPU;
    slots = !config->slots && slots < LEAST_SLOTS ? LEAST_SLOTS : slots;
    queue_init(&engine->queue, slots, config->queue,
               config->per_caller && config->per_caller < slots ? config->per_caller : slots);
    engine->share = config->share ? config->share : ENGINE_SHARE;
    engine->queue.memory = config->run_bytes ? config->run_bytes : all_memory() / 10 * 9;
    engine->max_clients = slots + config->queue + SPARE_CLIENTS;
    if (engine->max_clients > descriptors / 2)
        engine->max_clients = (uint32_t)(descriptors / 2);
    room = (descriptors - engine->max_clients) / FDS_PER_STANDBY;
    engine->limits = (struct pool_limits){
        .least = config->park_min,
        .most = config->park_max < config->park_min ? config->park_min : config->park_max,
        .total = room < MOST_READY ? (uint32_t)room : MOST_READY,
        .memory_bytes = config->pool_bytes ? config->pool_bytes : all_memory() / 4,
        .idle_us = IDLE_US,
    };
}

/* clang-format off */
static const struct engine_reports reports = {
    .standby_ready  = leases_hand_over,
    .standby_failed = pool_factory_failed,
    .standby_gone   = pool_factory_close_unused,
    .pool_stuck     = leases_go_cold,
};
/* clang-format on */

static void stop_listening(struct engine *engine)
{
    if (engine->listen_fd < 0)
        return;
    loop_remove(&engine->events, &engine->listener);
    engine_unlisten();
    close(engine->listen_fd);
    engine->listen_fd = -1;
}

/* The first signal lets active runs finish; the second ends them at once. */
static void signal_came(void *context, uint32_t events)
{
    struct engine *engine = context;
    struct signalfd_siginfo info;

    (void)events;
    if (read(engine->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    attendant_stop(engine); /* what it has begun ends together with our runs */
    if (engine->draining) {
        engine->over = true;
        return;
    }
    log_info("engine", "ends when those that run have finished");
    if (engine->config.on_stop)
        engine->config.on_stop(engine->config.context, engine->queue.n_running);
    notify_manager("STOPPING=1");
    engine->draining = engine->changed = true;
    engine->warm_next = NULL;
    engine->drain_end_us = clock_now_us() + DRAIN_US;
    stop_listening(engine);
    leases_refuse_queued(engine);
}

static int watch_signals(struct engine *engine, sbr_error *err)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

    engine->signal_fd = signal_fd_open(numbers, ARRAY_LEN(numbers));
    engine->signals = loop_watch_of(engine->signal_fd, signal_came, engine);
    if (engine->signal_fd < 0 || loop_add(&engine->events, &engine->signals, EPOLLIN) < 0)
        return err_set_errno(err, "engine", "cannot watch for signals");
    return 0;
}

/* An engine that cannot distinguish clients from programs in sandboxes must not serve. */
static int find_home(struct engine *engine, sbr_error *err)
{
    peer_look_home(&engine->home);
    if (engine->home.known)
        return 0;
    return err_set(err, SBR_E_UNSUPPORTED, "engine",
                   "/proc is not that of this pid namespace, so it is unknown who the clients "
                   "are; `mount -t proc proc /proc` mends it");
}

static int start_listening(struct engine *engine, char *path, sbr_error *err)
{
    if (engine_socket_path(path, ENGINE_PATH_SIZE, err) < 0 ||
        engine_listen(&engine->listen_fd, err) < 0)
        return err->code;
    engine->listener = loop_watch_of(engine->listen_fd, clients_accept, engine);
    if (loop_add(&engine->events, &engine->listener, EPOLLIN) < 0)
        return err_set_errno(err, "engine", "cannot watch the socket");
    return crash_cleanup_start(engine, path, err);
}

static int start(struct engine *engine, char *path, sbr_error *err)
{
    link_init(&engine->clients);
    link_init(&engine->pools);
    link_init(&engine->factories);
    link_init(&engine->free_slots);
    link_init(&engine->dirty_slots);
    engine->listen_fd = engine->signal_fd = engine->crash_cleanup_fd = -1;
    engine->attendant.death.fd = engine->attendant.ready.fd = -1;
    engine->started_us = clock_now_us();
    engine->warm_next = engine->config.warm ? engine->config.warm : PREWARM_PRESET;
    if (!*engine->warm_next)
        engine->warm_next = NULL;
    engine->warm_end_us = engine->started_us + WARM_US;
    set_limits(engine);
    if (loop_init(&engine->events, "engine", err) < 0 || watch_signals(engine, err) < 0 ||
        find_home(engine, err) < 0)
        return err->code;
    runner_probe(&engine->runtime, RUNNER_LONG);
    prewarm_try(engine);
    if (start_listening(engine, path, err) < 0)
        return err->code;
    return attendant_start(engine, err);
}

/* Runs when no event is left, or MAINTENANCE_AT_LEAST_US after the last time. */
static uint64_t look_after_all(struct engine *engine, uint64_t now_us, const char *path)
{
    uint64_t next_us;

    if (engine->warm_next)
        prewarm_next(engine);
    next_us = maintenance_run(engine, now_us);
    next_us = attendant_run(engine, now_us) < next_us ? engine->attendant.again_us : next_us;
    if (!engine->ready && !engine->draining && prewarm_is_over(engine) &&
        attendant_is_ready(engine)) {
        engine->ready = true;
        notify_manager("READY=1");
        if (engine->config.on_ready)
            engine->config.on_ready(engine->config.context, path,
                                    engine->why_cold[0] ? engine->why_cold : NULL);
    }
    if (engine->draining && (!engine->queue.n_running || now_us >= engine->drain_end_us))
        engine->over = true;
    return engine->warm_next ? now_us : next_us;
}

static uint64_t time_until(uint64_t next_us)
{
    uint64_t now_us = clock_now_us();

    if (next_us == NEVER)
        return NEVER;
    return next_us > now_us ? next_us - now_us : 0;
}

static int turn_until_over(struct engine *engine, const char *path, sbr_error *err)
{
    uint64_t looked_us = 0, timeout_us = 0;

    while (!engine->over) {
        int n = loop_turn(&engine->events, timeout_us);
        uint64_t now_us;

        if (n < 0)
            return err_set_errno(err, "engine", "cannot wait for events");
        now_us = clock_now_us();
        timeout_us = 0; /* handle requests before preparations */
        if (n && now_us - looked_us < MAINTENANCE_AT_LEAST_US)
            continue;
        looked_us = now_us;
        timeout_us = time_until(look_after_all(engine, now_us, path));
    }
    if (engine->attendant.failure.code)
        *err = engine->attendant.failure;
    return engine->attendant.failure.code;
}

/* Ends everything that the engine made, and waits for that for a limited time. */
static void end_all(struct engine *engine)
{
    uint64_t end_us = clock_now_us() + END_US;

    engine->draining = true;
    stop_listening(engine);
    list_each(at, &engine->clients)
        client_drop(link_owner(at, struct client, link));
    pool_factories_close_all(engine);
    list_each(at, &engine->pools)
        pool_forget(link_owner(at, struct pool, link));
    while (!link_is_alone(&engine->factories) && clock_now_us() < end_us)
        if (loop_turn(&engine->events, END_STEP_US) < 0)
            break;
    attendant_end(engine);
    cgroup_slots_close_all(engine);
    crash_cleanup_stop(engine);
    loop_done(&engine->events);
    scope_close_fd(&engine->signal_fd);
}

int engine_serve(const struct engine_config *config, sbr_error *err)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    char path[ENGINE_PATH_SIZE];
    int r;

    if (!engine)
        return err_set_oom(err, "engine");
    engine->reports = &reports;
    engine->config = *config;
    engine_is_here();
    r = start(engine, path, err);
    if (r == 0)
        r = turn_until_over(engine, path, err);
    end_all(engine);
    free(engine);
    return r;
}
