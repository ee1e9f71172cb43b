/* What the files of the engine know of each other; nobody else includes this.  See engine.h for the picture.
 *
 *   (1) A client holds a place in the queue from LEASE to DONE; it has a cell only while it holds one.
 *   (2) A cell belongs to a house and sits in a nest from its order until all in it is dead; then the nest is dirty.
 *   (3) A house outlives its cells, a kind its houses: a template stays as long as something was made of it.
 *   (4) What a client holds goes when the client does. */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "engine/engine_main.h"
#include "engine/pool_size.h"
#include "engine/queue.h"
#include "sandbox/cgroup_slot.h"
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

/* Groups that are used one run after another. */
struct slot_entry {
    struct link link; /* in one of the engine's lists; alone: a cell sits in it */
    struct slot slot;
    enum cgroup_kind cgroup_kind;
    uint32_t controllers;
    bool collects;
    uint64_t retry_us; /* of a dirty one */
};

/* A template that is known. */
struct pool {
    struct loop_garbage garbage;
    struct link link; /* in `kinds`, most recently used first; alone: forgotten */
    struct engine *engine;
    char key[SHA256_HEX_SIZE];
    char name[POOL_NAME_SIZE];
    char *bytes; /* what the plan points into */
    struct plan *plan;
    struct pool_factory *factory;   /* that makes its sandboxes; NULL: none */
    struct pool_factory *successor; /* is getting ready to take its place   */
    uint32_t n_factories; /* also those that are only waiting for the end of their cells */
    uint32_t n_users;     /* clients that queue, wait or run */
    struct link ready;    /* cells, newest first */
    struct link waiting;  /* clients, oldest first */
    uint32_t n_ready, n_making, n_leased, n_waiting;
    uint32_t target;
    struct pool_demand demand;
    uint32_t failures;      /* of factories in a row */
    uint32_t losses;        /* of young sandboxes in a row */
    uint64_t not_before_us; /* nothing is tried until then */
    uint64_t made, died, given_ready, given_forked, given_cold;
    char reason[ENGINE_REASON_SIZE]; /* of the last failure; empty: none */
};

/* A nursery and all that it made. */
struct pool_factory {
    struct loop_garbage garbage;
    struct link link; /* in `houses` */
    struct pool *pool;
    struct factory core;
    struct loop_watch control;
    struct loop_watch death; /* of one that was told to end */
    struct link standbys;
    uint32_t stock; /* cells that are parked or being made */
    bool retired;   /* makes no more; ends with its last cell */
    bool over;      /* the nursery has ended                  */
    uint64_t made, started_us;
};

enum standby_state {
    STANDBY_ORDERED,
    STANDBY_FORKED, /* confines itself, warms up */
    STANDBY_READY,
    STANDBY_LEASED,
    STANDBY_ENDING /* killed, not dead yet */
};

/* One sandbox, from its order until nothing of it is left. */
struct standby {
    struct loop_garbage garbage;
    struct link link;  /* in its house */
    struct link ready; /* in its kind  */
    struct pool_factory *factory;
    struct slot_entry *slot;
    enum standby_state state;
    bool dead;       /* seen while it was leased */
    bool unwanted;   /* ends as soon as it is born */
    bool given_away; /* the sandbox is somebody else's; we have its pidfd */
    int pidfd;
    struct ids ids; /* of one that was given away: nobody else may have them before its end */
    struct sandbox box;
    struct loop_watch control, death;
    struct loop_watch questions; /* of a driver, until somebody has it */
    uint64_t ordered_us;
};

enum client_state {
    CLIENT_IDLE,
    CLIENT_QUEUED,  /* for a place */
    CLIENT_WAITING, /* has a place; its sandbox is being made */
    CLIENT_HOLDING  /* runs, in our cell or cold */
};

struct client {
    struct loop_garbage garbage;
    struct link link;    /* in `clients` */
    struct link waiting; /* in its kind  */
    struct engine *engine;
    struct loop_watch watch;
    int fd;
    enum client_state state;
    struct ticket ticket;
    struct pool *pool; /* NULL: it wants no sandbox of ours */
    struct standby *standby;
    bool unknown;           /* its template was not sent */
    bool declined;          /* its template was not taken */
    uint32_t told_position; /* of a queued one */
    char process[24];       /* who it is when it does not say */
};

struct engine {
    struct engine_config config;
    sbr_runtime runtime;
    struct peer_home home; /* whose processes are heard */
    struct loop events;
    struct queue queue;
    struct pool_limits limits;
    struct loop_watch listener, signals;
    int listen_fd, signal_fd;
    pid_t crash_cleanup;
    int crash_cleanup_fd; /* its end tells the watcher of ours */
    uint32_t processors, max_clients;
    struct link clients, pools, factories;
    uint32_t n_clients, n_pools, n_making;
    struct link free_slots, dirty_slots;
    uint32_t n_slots, n_free, n_dirty;
    uint64_t started_us, maintenance_us, positions_us, targets_us;
    uint64_t quiet_us; /* until then nothing is done that can wait */
    bool draining, over, ready;
    uint64_t drain_end_us;
    bool changed;          /* something happened that upkeep has to look at */
    bool unsettled;        /* pools may have to be filled when there is time */
    const char *warm_next; /* what is left of the list of languages to make ready; NULL: nothing */
    uint64_t warm_end_us;
    uint64_t n_refused, n_strangers, given_ready, given_forked, given_cold, n_made, n_died;
};

/* clients.c: connections and what they say. */
void clients_accept(void *context, uint32_t events);
/* Ends the connection and all that it holds. */
void client_drop(struct client *client);
/* 0, or -1 when the client is gone or does not read: then its connection is shut, and it is dropped when the loop hears
 * of that, never from here. */
int client_send(struct client *client, const struct engine_reply *reply, const int *fds, size_t n);

/* leases.c.  The descriptor, if any, is borrowed. */
void lease_ask(struct client *client, const struct engine_request *request, int blueprint_fd);
/* DONE, or the end of the connection. */
void lease_end(struct client *client);
/* Places may have become free. */
void leases_admit(struct engine *engine);
/* A cell of the kind is parked: somebody may be waiting for it.  True when he got it. */
bool lease_hand_over(struct pool *pool);
/* As many are ordered as are waited for. */
void leases_make(struct pool *pool);
/* Nothing will be made of this kind for now. */
void leases_go_cold(struct pool *pool, const char *reason);
void leases_tell_positions(struct engine *engine);
void leases_refuse_queued(struct engine *engine);

/* kinds.c */
struct pool *pool_find(struct engine *engine, const char *key);
/* Reads the template; NULL with the reason. */
struct pool *pool_add(struct engine *engine, const struct engine_request *request, int fd,
                      sbr_error *err);
/* The same with its bytes, which are the kind's afterwards, also on failure. */
struct pool *pool_add_bytes(struct engine *engine, const struct engine_request *request,
                            char *take_bytes, size_t len, sbr_error *err);
void pool_touch(struct pool *pool);
/* One that nobody uses: ends what was made of it. */
void pool_forget(struct pool *pool);
void pool_free_unused(struct pool *pool);

/* houses.c */
/* Starts a nursery unless it is too early after a failure. */
void pool_factory_open(struct pool *pool);
/* Makes no more, and goes with its last cell; what is parked stays until there is something better. */
void pool_factory_retire(struct pool_factory *factory);
/* The same, and what nobody uses goes at once. */
void pool_factory_dismiss(struct pool_factory *factory);
/* One that has no cells. */
void pool_factory_close_unused(struct pool_factory *factory);
/* Something that it made failed. */
void pool_factory_failed(struct pool_factory *factory, const char *reason);
/* The engine ends: nothing that any of them made lives on. */
void pool_factories_close_all(struct engine *engine);
bool pool_can_make(const struct pool *pool);

/* cells.c */
/* 0, or negative: none can be ordered now. */
int standby_order(struct pool *pool);
/* Kills it, wherever it is; it goes when it is dead. */
void standby_end(struct standby *standby);
/* It was given to a client. */
void standby_lease(struct standby *standby);
void standby_notify_answer(struct standby *standby);
void standby_notify_stop(struct standby *standby);
/* The nursery says that it was born. */
void standby_forked(struct standby *standby);
struct standby *standby_of_box(struct sandbox *box);
/* Its house is gone before it was born. */
void standby_abandon(struct standby *standby);

/* nests.c */
struct slot_entry *cgroup_slots_take(struct engine *engine, const struct plan *plan,
                                     sbr_error *err);
void cgroup_slots_put(struct engine *engine, struct slot_entry *slot);
/* Cleans one; when to come back for more. */
uint64_t cgroup_slots_clean(struct engine *engine, uint64_t now_us);
void cgroup_slots_close_all(struct engine *engine);

/* upkeep.c: everything that is not on the way of a run.  Returns when to come back at the latest. */
uint64_t maintenance_run(struct engine *engine, uint64_t now_us);

/* prewarm.c: the next language of the list. */
void prewarm_next(struct engine *engine);
/* All that was asked for is parked, or could not be made. */
bool prewarm_is_over(const struct engine *engine);

/* status.c: the caller frees it; NULL without memory. */
char *engine_status_json(const struct engine *engine);

/* watcher.c: a process that removes what the kernel does not, should the engine be killed. */
int crash_cleanup_start(struct engine *engine, const char *socket, sbr_error *err) must_check;
/* The engine ends by itself and has left nothing. */
void crash_cleanup_stop(struct engine *engine);

#endif
