/* Threads wait for the host's resolver; the caller's thread does everything else.
 *   (1) `lock` guards the state of lookups and the queue; a thread works on its lookup without it,
 *       because no other thread touches one that is LOOKUP_RUNS.
 *   (2) Only the caller's thread uses the askers.
 *   (3) A lookup becomes free only after all askers were called back, so a
 *       callback may ask anew. */
#include "egress/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define N_THREADS 4
#define STACK_SIZE (256 * 1024) /* musl's getaddrinfo needs some 20 KiB, others more */
#define MAX_LOOKUPS 64
#define MAX_ASKERS 640

/* FREE --ask--> WAITS --thread--> RUNS --thread--> READY --dispatch--> CALLS_BACK --> FREE */
enum lookup_state { LOOKUP_FREE, LOOKUP_WAITS, LOOKUP_RUNS, LOOKUP_READY, LOOKUP_CALLS_BACK };

struct lookup {
    enum lookup_state state;
    uint64_t order; /* the oldest comes first */
    struct resolution resolution;
};

struct asker {
    const struct lookup *lookup; /* NULL: free */
    resolve_done *done;
    void *context;
};

struct resolver {
    int event_fd;
    pthread_mutex_t lock;
    pthread_cond_t work;
    uint64_t n_asked;
    struct lookup lookups[MAX_LOOKUPS];
    struct asker askers[MAX_ASKERS];
};

/* A name that does not exist is no error of its lookup. */
static bool is_absence(int code)
{
#ifdef EAI_NODATA
    if (code == EAI_NODATA)
        return true;
#endif
    return code == EAI_NONAME;
}

static void look_up(struct resolution *r)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    int code = getaddrinfo(r->name, NULL, &hints, &found);
    uint16_t port;

    r->n_addresses = 0;
    r->exists = !is_absence(code);
    if (code != 0)
        return;
    for (struct addrinfo *one = found; one && r->n_addresses < NAME_MAX_ADDRESSES;
         one = one->ai_next)
        if (address_from_socket(one->ai_addr, &r->addresses[r->n_addresses], &port))
            r->n_addresses++;
    freeaddrinfo(found);
}

static struct lookup *find_state(struct resolver *resolver, enum lookup_state state)
{
    struct lookup *first = NULL;

    for (size_t i = 0; i < MAX_LOOKUPS; i++) {
        struct lookup *one = &resolver->lookups[i];

        if (one->state == state && (!first || one->order < first->order))
            first = one;
    }
    return first;
}

static void *thread_main(void *context)
{
    struct resolver *resolver = context;

    pthread_mutex_lock(&resolver->lock);
    for (;;) {
        struct lookup *lookup = find_state(resolver, LOOKUP_WAITS);

        if (!lookup) {
            pthread_cond_wait(&resolver->work, &resolver->lock);
            continue;
        }
        lookup->state = LOOKUP_RUNS;
        pthread_mutex_unlock(&resolver->lock);
        look_up(&lookup->resolution);
        pthread_mutex_lock(&resolver->lock);
        lookup->state = LOOKUP_READY;
        eventfd_write(resolver->event_fd, 1);
    }
    return NULL;
}

/* Signals are for the caller's loop: the threads inherit a mask that blocks them all. */
static int start_threads(struct resolver *resolver, sbr_error *err)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;
    int r = 0;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < N_THREADS && r == 0; i++)
        r = pthread_create(&thread, &attr, thread_main, resolver);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (r != 0) {
        errno = r;
        return err_set_no_process(err, "egress", "a thread that looks up names");
    }
    return 0;
}

int resolver_start(struct resolver **ret, sbr_error *err)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));
    int r;

    if (!resolver)
        return err_set_oom(err, "egress");
    pthread_mutex_init(&resolver->lock, NULL);
    pthread_cond_init(&resolver->work, NULL);
    resolver->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (resolver->event_fd < 0) {
        r = err_set_errno(err, "egress", "cannot make an eventfd");
        free(resolver);
        return r;
    }
    r = start_threads(resolver, err);
    if (r < 0)
        return r; /* threads that did start use it until the process ends */
    *ret = resolver;
    return 0;
}

int resolver_fd(const struct resolver *resolver)
{
    return resolver->event_fd;
}

/* The lookup of this name whose answer was not given out yet. */
static struct lookup *find_name(struct resolver *resolver, const char *name)
{
    for (size_t i = 0; i < MAX_LOOKUPS; i++) {
        struct lookup *one = &resolver->lookups[i];

        if (one->state != LOOKUP_FREE && one->state != LOOKUP_CALLS_BACK &&
            strcmp(one->resolution.name, name) == 0)
            return one;
    }
    return NULL;
}

static struct lookup *lookup_start(struct resolver *resolver, const char *name)
{
    struct lookup *lookup = find_state(resolver, LOOKUP_FREE);

    if (!lookup)
        return NULL;
    snprintf(lookup->resolution.name, sizeof(lookup->resolution.name), "%s", name);
    lookup->order = resolver->n_asked++;
    lookup->state = LOOKUP_WAITS;
    pthread_cond_signal(&resolver->work);
    return lookup;
}

bool resolver_ask(struct resolver *resolver, const char *name, resolve_done *done, void *context)
{
    struct asker *room = NULL;
    struct lookup *lookup;

    for (size_t i = 0; i < MAX_ASKERS && !room; i++)
        if (!resolver->askers[i].lookup)
            room = &resolver->askers[i];
    if (!room || strlen(name) >= HOSTNAME_SIZE)
        return false;
    pthread_mutex_lock(&resolver->lock);
    lookup = find_name(resolver, name);
    if (!lookup)
        lookup = lookup_start(resolver, name);
    pthread_mutex_unlock(&resolver->lock);
    if (!lookup)
        return false;
    for (size_t i = 0; i < MAX_ASKERS; i++) {
        const struct asker *one = &resolver->askers[i];

        if (one->lookup == lookup && one->done == done && one->context == context)
            return true;
    }
    *room = (struct asker){ .lookup = lookup, .done = done, .context = context };
    return true;
}

static struct lookup *take_ready(struct resolver *resolver)
{
    struct lookup *ready;

    pthread_mutex_lock(&resolver->lock);
    ready = find_state(resolver, LOOKUP_READY);
    if (ready)
        ready->state = LOOKUP_CALLS_BACK;
    pthread_mutex_unlock(&resolver->lock);
    return ready;
}

void resolver_dispatch(struct resolver *resolver)
{
    struct lookup *ready;
    eventfd_t count;

    eventfd_read(resolver->event_fd, &count);
    while ((ready = take_ready(resolver))) {
        for (size_t i = 0; i < MAX_ASKERS; i++) {
            struct asker one = resolver->askers[i];

            if (one.lookup != ready)
                continue;
            resolver->askers[i].lookup = NULL;
            one.done(one.context, &ready->resolution);
        }
        pthread_mutex_lock(&resolver->lock);
        ready->state = LOOKUP_FREE;
        pthread_mutex_unlock(&resolver->lock);
    }
}

void resolver_forget(struct resolver *resolver, const void *context)
{
    for (size_t i = 0; i < MAX_ASKERS; i++)
        if (resolver->askers[i].context == context)
            resolver->askers[i].lookup = NULL;
}
