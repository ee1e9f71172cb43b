#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "job/engine_socket.h"
#include "job/warm.h"
#include "plan/blueprint.h"

#define MAX_IDLE 64
#define MAX_KNOWN 8

struct idle {
    int fd;
    char sent_key[SHA256_HEX_SIZE];
};

/* Comparing is cheaper than a digest, and most runs of a runtime are alike. */
struct known {
    enum cgroup_kind kind;
    uint32_t controllers;
    char *bytes;
    size_t len;
    char key[SHA256_HEX_SIZE];
};

struct engine_connections {
    pthread_mutex_t lock;
    pid_t owner; /* a forked child must not use its parent's connections */
    struct idle idle[MAX_IDLE];
    size_t n_idle;
    struct known known[MAX_KNOWN];
    unsigned int next_known;
};

struct engine_connections *engine_connections_new(void)
{
    struct engine_connections *pool = calloc(1, sizeof(*pool));

    if (pool) {
        pthread_mutex_init(&pool->lock, NULL);
        pool->owner = getpid();
    }
    return pool;
}

static void drop_idle(struct engine_connections *pool)
{
    while (pool->n_idle > 0)
        close(pool->idle[--pool->n_idle].fd);
}

void engine_connections_free(struct engine_connections *pool)
{
    if (!pool)
        return;
    drop_idle(pool);
    for (size_t i = 0; i < MAX_KNOWN; i++)
        free(pool->known[i].bytes);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* After a fork the lock may be held by a thread that does not exist in the child. */
static void enter(struct engine_connections *pool)
{
    if (pool->owner != getpid()) {
        pthread_mutex_init(&pool->lock, NULL);
        drop_idle(pool);
        pool->owner = getpid();
    }
    pthread_mutex_lock(&pool->lock);
}

bool engine_connections_take(struct engine_connections *pool, struct warm *warm)
{
    bool found = false;

    if (!pool)
        return false;
    enter(pool);
    if (pool->n_idle > 0) {
        const struct idle *idle = &pool->idle[--pool->n_idle];

        warm->fd = idle->fd;
        memcpy(warm->sent_key, idle->sent_key, sizeof(warm->sent_key));
        warm->used_before = found = true;
    }
    pthread_mutex_unlock(&pool->lock);
    return found;
}

void engine_connections_find(struct engine_connections *pool, struct warm *warm)
{
    if (warm->off || warm->fd >= 0 || engine_connections_take(pool, warm) ||
        engine_connect(&warm->fd) == 0)
        return;
    log_info("engine", "cold, because no engine is running");
    warm->off = true;
}

void engine_connections_give(struct engine_connections *pool, struct warm *warm)
{
    if (pool && warm->fd >= 0) {
        enter(pool);
        if (pool->n_idle < MAX_IDLE) {
            struct idle *idle = &pool->idle[pool->n_idle++];

            idle->fd = take_fd(warm->fd);
            memcpy(idle->sent_key, warm->sent_key, sizeof(idle->sent_key));
        }
        pthread_mutex_unlock(&pool->lock);
    }
    scope_close_fd(&warm->fd);
    warm->fd = -1;
}

static bool is_known(const struct known *known, const struct plan *blueprint,
                     const struct buf *encoded)
{
    return known->bytes && known->len == encoded->len && known->kind == blueprint->cgroup_kind &&
           known->controllers == blueprint->cgroup_controllers &&
           !memcmp(known->bytes, encoded->data, encoded->len);
}

static bool look_up(struct engine_connections *pool, const struct plan *blueprint,
                    const struct buf *encoded, char key[SHA256_HEX_SIZE])
{
    bool found = false;

    enter(pool);
    for (size_t i = 0; !found && i < MAX_KNOWN; i++) {
        found = is_known(&pool->known[i], blueprint, encoded);
        if (found)
            memcpy(key, pool->known[i].key, SHA256_HEX_SIZE);
    }
    pthread_mutex_unlock(&pool->lock);
    return found;
}

static void remember(struct engine_connections *pool, const struct plan *blueprint,
                     const struct buf *encoded, const char key[SHA256_HEX_SIZE])
{
    char *bytes = malloc(encoded->len);
    struct known *known;

    if (!bytes)
        return;
    memcpy(bytes, encoded->data, encoded->len);
    enter(pool);
    known = &pool->known[pool->next_known++ % MAX_KNOWN];
    free(known->bytes);
    *known = (struct known){ .kind = blueprint->cgroup_kind,
                             .controllers = blueprint->cgroup_controllers,
                             .bytes = bytes,
                             .len = encoded->len };
    memcpy(known->key, key, sizeof(known->key));
    pthread_mutex_unlock(&pool->lock);
}

void engine_connections_key(struct engine_connections *pool, const struct plan *blueprint,
                            const struct buf *encoded, char key[SHA256_HEX_SIZE])
{
    if (pool && look_up(pool, blueprint, encoded, key))
        return;
    blueprint_key_of(blueprint, encoded, key);
    if (pool)
        remember(pool, blueprint, encoded, key);
}
