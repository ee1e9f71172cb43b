/* Shared by the files of the engine; no other file includes it.  engine_main.h has the overview.
 *
 *   (1) A client holds a ticket of the queue from LEASE to DONE, and a standby only while it does.
 *   (2) A standby belongs to a factory and uses a cgroup slot from its order until everything in it
 *       is dead; then the slot is dirty.
 *   (3) A factory outlives its standbys, a pool its factories: a blueprint stays as long as
 *       anything made from it.
 *   (4) The engine releases what a client holds when the client goes. */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "engine/engine_main.h"
#include "engine/pool_size.h"
#include "engine/queue.h"
#include "sandbox/cgroup.h"
#include "sandbox/factory.h"
#include "sandbox/peer.h"
#include "wire/engine.h"

#define POOL_NAME_SIZE 48
#define MAX_POOLS 64
#define MAX_SLOTS 1024
#define NEVER UINT64_MAX
#define PREWARM_PRESET "python,javascript,bash," ENGINE_COMMAND
#define VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define VERSION_TEXT(a, b, c) VERSION_TEXT_(a, b, c)
#define ENGINE_VERSION_TEXT VERSION_TEXT(SBR_VERSION_MAJOR, SBR_VERSION_MINOR, SBR_VERSION_PATCH)

/* Cgroups that serve one run after another. */
struct slot_entry {
    struct link link; /* in one of the engine's lists; alone: a standby uses it */
    struct slot slot;
    enum cgroup_kind cgroup_kind;
    uint32_t controllers;
    bool collects;
    uint64_t retry_us; /* of a dirty one */
};

/* A known blueprint. */
struct pool {
    struct loop_garbage garbage;
    struct link link; /* in `pools`, most recently used first; alone: forgotten */
    struct engine *engine;
    char key[SHA256_HEX_SIZE];
    char name[POOL_NAME_SIZE];
    char *bytes; /* memory that the plan points into */
    struct plan *plan;
    struct pool_factory *factory;   /* makes its sandboxes; NULL: none */
    struct pool_factory *successor; /* replaces `factory` once it is ready */
    uint32_t n_factories;           /* also those that only wait for the end of their standbys */
    uint32_t n_users;               /* clients that queue, wait or run */
    struct link ready;              /* standbys, newest first */
    struct link waiting;            /* clients, oldest first */
    uint32_t n_ready, n_making, n_leased, n_waiting;
    uint32_t target;
    struct pool_demand demand;
    uint32_t failures;      /* of factories in a row */
    uint32_t losses;        /* of young sandboxes in a row */
    uint64_t not_before_us; /* no new attempt before */
    uint64_t made, died, given_ready, given_forked, given_cold;
    char reason[ENGINE_REASON_SIZE]; /* of the last failure; empty: none */
};

/* A factory and everything that it made. */
struct pool_factory {
    struct loop_garbage garbage;
    struct link link; /* in `factories` */
    struct pool *pool;
    struct factory core;
    struct loop_watch control;
    struct loop_watch death; /* of a factory that was killed */
    struct link standbys;
    uint32_t stock; /* standbys that are ready or being made */
    bool retired;   /* makes no more; ends with its last standby */
    bool over;      /* the factory process has ended */
    uint64_t made, started_us;
};

enum standby_state {
    STANDBY_ORDERED,
    STANDBY_FORKED, /* confines itself, warms up */
    STANDBY_READY,
    STANDBY_LEASED,
    STANDBY_UNWANTED, /* ordered, and killed as soon as it is forked */
    STANDBY_ENDING    /* killed, not dead yet */
};

/* One sandbox, from its order until nothing of it is left. */
struct standby {
    struct loop_garbage garbage;
    struct link link;  /* in its factory */
    struct link ready; /* in its pool */
    struct pool_factory *factory;
    struct slot_entry *slot;
    enum standby_state state;
    bool dead;       /* died while it was leased */
    bool given_away; /* a client has the sandbox; we keep its pidfd */
    int pidfd;
    struct ids ids; /* of one that was handed over: reserved until its end */
    struct sandbox box;
    struct loop_watch control, death;
    struct loop_watch notify; /* of a driver, until a client has it */
    uint64_t ordered_us;
};

enum client_state {
    CLIENT_IDLE,
    CLIENT_QUEUED,  /* for a run slot */
    CLIENT_WAITING, /* admitted; its sandbox is being made */
    CLIENT_HOLDING  /* runs, in a standby or cold */
};

struct client {
    struct loop_garbage garbage;
    struct link link;    /* in `clients` */
    struct link waiting; /* in its pool */
    struct engine *engine;
    struct loop_watch watch;
    int fd;
    enum client_state state;
    struct ticket ticket;
    struct pool *pool; /* NULL: it wants none of our sandboxes */
    struct standby *standby;
    bool unknown;               /* did not send its blueprint */
    bool declined;              /* its blueprint was refused */
    uint32_t reported_position; /* of a queued one */
    uint64_t waits_until_us;    /* of a waiting one: then it runs cold */
    uint64_t idle_since_us;     /* of an idle one */
    bool was_answered;          /* a lease of it has ended, or was refused */
    char process[24];           /* its name when it gives none */
};

/* What a file reports to one above it: clients > leases > pools > pool_factories > standbys.  The
 * calls that are declared below go down this order; only these go up. */
struct engine_reports {
    /* A standby became ready.  True when a waiting client has it now. */
    bool (*standby_ready)(struct pool *pool);
    void (*standby_failed)(struct pool_factory *factory, const char *reason);
    /* Nothing of a standby is left, which may have been the factory's last. */
    void (*standby_gone)(struct pool_factory *factory);
    /* Nothing can be made in this pool for now. */
    void (*pool_stuck)(struct pool *pool, const char *reason);
};

/* Of config.attendant. */
struct attendant {
    pid_t pid; /* 0: it does not run */
    struct loop_watch death, ready;
    bool has_served; /* one that was started */
    uint64_t started_us, again_us, pause_us;
    uint64_t n_restarts;
    sbr_error failure; /* none has served */
};

struct engine {
    const struct engine_reports *reports;
    struct engine_config config;
    sbr_runtime runtime;
    char why_cold[sizeof(
        ((sbr_error *)NULL)->message)]; /* no sandbox can be kept ready; empty: some can */
    struct peer_home home;              /* our namespaces, which clients must share */
    struct loop events;
    struct attendant attendant;
    struct queue queue;
    uint32_t share; /* percent; the most that one of several callers may hold */
    struct pool_limits limits;
    struct loop_watch listener, signals;
    int listen_fd, signal_fd;
    pid_t crash_cleanup;
    int crash_cleanup_fd; /* its closing reports our end to the cleanup process */
    uint32_t cpus, max_clients;
    struct link clients, pools, factories;
    uint32_t n_clients, n_pools, n_making;
    struct link free_slots, dirty_slots;
    uint32_t n_slots, n_free, n_dirty;
    uint64_t started_us, maintenance_us, positions_us, targets_us;
    uint64_t quiet_us;  /* nothing that can wait is done before */
    uint64_t accept_us; /* no connection is accepted before; 0: at once */
    bool draining, over, ready;
    uint64_t drain_end_us;
    bool changed;          /* maintenance must look at something */
    bool unsettled;        /* pools may need filling when there is time */
    const char *warm_next; /* rest of the languages to prewarm; NULL: none */
    uint64_t warm_end_us;
    uint64_t n_refused, n_foreign, given_ready, given_forked, given_cold, n_made, n_died;
};

/* clients.c: connections and requests. */
void clients_accept(void *context, uint32_t events);
/* Accepts again after descriptors ran out.  Returns when to come back. */
uint64_t clients_accept_again(struct engine *engine, uint64_t now_us);
/* Ends the connection and releases everything that it holds. */
void client_drop(struct client *client);

/* reply.c */
struct engine_reply reply_of(uint32_t answer, const char *reason);
/* 0, or -1 when the client is gone or does not read: then its connection is shut down, and the loop
 * drops it later, never this function. */
int reply_send(struct client *client, const struct engine_reply *reply, const int *fds, size_t n);
/* Sends the engine's state. */
void reply_status(struct client *client);

/* leases.c.  `blueprint_fd` is borrowed, or -1. */
void lease_ask(struct client *client, const struct engine_request *request, int blueprint_fd);
/* After DONE, or at the end of the connection. */
void lease_end(struct client *client);
/* Call when run slots may be free. */
void leases_admit(struct engine *engine);
/* Gives a newly ready sandbox to the first waiting client, if any.  True when it was given. */
bool leases_hand_over(struct pool *pool);
/* Orders as many as clients wait for. */
void leases_make(struct pool *pool);
/* Nothing can be made in this pool for now: all waiting clients run cold. */
void leases_go_cold(struct pool *pool, const char *reason);
/* Clients that have waited too long run cold.  Returns when to come back. */
uint64_t leases_end_waits(struct engine *engine, uint64_t now_us);
void leases_report_positions(struct engine *engine);
void leases_refuse_queued(struct engine *engine);

/* pools.c */
struct pool *pool_find(struct engine *engine, const char *key);
/* Reads the blueprint; NULL with the reason. */
struct pool *pool_add(struct engine *engine, const struct engine_request *request, int fd,
                      sbr_error *err);
/* The same from memory, which the pool takes, also on failure. */
struct pool *pool_add_bytes(struct engine *engine, const struct engine_request *request,
                            char *take_bytes, size_t len, sbr_error *err);
void pool_touch(struct pool *pool);
/* Only without users: ends everything that was made of it. */
void pool_forget(struct pool *pool);

/* pool_factories.c */
/* Only a forgotten one, without factories and users. */
void pool_free_unused(struct pool *pool);
/* Starts a factory, unless it is too early after a failure. */
void pool_factory_open(struct pool *pool);
/* Makes no more, and ends what is not leased at once, itself with its last standby. */
void pool_factory_dismiss(struct pool_factory *factory);
/* Only without standbys. */
void pool_factory_close_unused(struct pool_factory *factory);
/* A sandbox that the factory made has failed. */
void pool_factory_failed(struct pool_factory *factory, const char *reason);
/* Replaces factories that do not answer. */
void pool_factories_check(struct engine *engine, uint64_t now_us);
/* The engine ends: ends all factories and everything that they made. */
void pool_factories_close_all(struct engine *engine);

/* standbys.c */
/* 0, or negative: none can be ordered now. */
int standby_order(struct pool *pool);
/* Kills it in any state; it is freed when it is dead. */
void standby_end(struct standby *standby);
/* Call after a client received it. */
void standby_lease(struct standby *standby);
void standby_notify_answer(struct standby *standby);
void standby_notify_stop(struct standby *standby);
/* The factory reports that it is forked. */
void standby_forked(struct standby *standby);
struct standby *standby_of_box(struct sandbox *box);
/* Its factory ended before it was forked. */
void standby_abandon(struct standby *standby);

/* cgroup_slots.c */
struct slot_entry *cgroup_slots_take(struct engine *engine, const struct plan *plan,
                                     sbr_error *err);
void cgroup_slots_put(struct engine *engine, struct slot_entry *slot);
/* Cleans one slot; returns when to come back for more. */
uint64_t cgroup_slots_clean(struct engine *engine, uint64_t now_us);
void cgroup_slots_close_all(struct engine *engine);

/* attendant.c */
int attendant_start(struct engine *engine, sbr_error *err) must_check;
bool attendant_is_ready(const struct engine *engine);
/* Starts it again when it is time.  Returns when to come back. */
uint64_t attendant_run(struct engine *engine, uint64_t now_us);
/* Asks it to end; once more: at once. */
void attendant_stop(struct engine *engine);
/* Waits for that. */
void attendant_end(struct engine *engine);

/* maintenance.c: everything that a run does not wait for.  Returns the latest time to come back. */
uint64_t maintenance_run(struct engine *engine, uint64_t now_us);

/* prewarm.c: fills why_cold. */
void prewarm_try(struct engine *engine);
/* Starts the next language of the list. */
void prewarm_next(struct engine *engine);
/* Everything on the list is ready, or could not be made. */
bool prewarm_is_over(const struct engine *engine);

/* engine_status.c: the caller frees it; NULL without memory. */
char *engine_status_json(const struct engine *engine);

/* crash_cleanup.c: a process that removes what the kernel does not, if the engine is killed. */
int crash_cleanup_start(struct engine *engine, const char *socket, sbr_error *err) must_check;
/* The engine ends normally and has left nothing. */
void crash_cleanup_stop(struct engine *engine);

/* Reports the state of a service to systemd (sd_notify(3), Type=notify). */

/* For example "READY=1"; does nothing without a listener. */
void notify_manager(const char *state);

#endif
