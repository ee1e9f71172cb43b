#include "mcp/mcp_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/tree_remove.h"
#include "base/user_dir.h"

#define RUNS_MAX 64
#define BYTES_MAX (512 * MIB)

static const unsigned int most[MCP_N_OWNED] = { MCP_SESSIONS_MAX, MCP_CHANGES_MAX };

void mcp_store_init(struct mcp_store *store, uint64_t max)
{
    memset(store, 0, sizeof(*store));
    store->max = max ? max : BYTES_MAX;
    pthread_mutex_init(&store->lock, NULL);
}

static void free_runs(struct mcp_run *run)
{
    while (run) {
        struct mcp_run *older = run->next;

        if (run->dir)
            (void)!tree_remove(AT_FDCWD, run->dir);
        json_decref(run->result);
        free(run->dir);
        free(run);
        run = older;
    }
}

void mcp_store_done(struct mcp_store *store)
{
    free_runs(store->newest);
    if (store->place)
        (void)!tree_remove(AT_FDCWD, store->place);
    free(store->spare);
    free(store->place);
    pthread_mutex_destroy(&store->lock);
}

/* Under the lock. */
static char *make_dir(struct mcp_store *store)
{
    char *dir = take_ptr(store->spare);

    if (dir)
        return dir;
    if (!store->place) {
        store->place = text_format("%s/sandbox-run-mcp-XXXXXX", user_dir_temporary());
        if (!store->place || !mkdtemp(store->place)) {
            free(store->place);
            store->place = NULL;
            return NULL;
        }
    }
    dir = text_format("%s/%llu", store->place, (unsigned long long)++store->n_dirs);
    if (dir && mkdir(dir, 0700) < 0) {
        free(dir);
        dir = NULL;
    }
    return dir;
}

char *mcp_store_make_dir(struct mcp_store *store)
{
    char *dir;

    pthread_mutex_lock(&store->lock);
    dir = make_dir(store);
    pthread_mutex_unlock(&store->lock);
    return dir;
}

void mcp_store_return_dir(struct mcp_store *store, char *dir)
{
    pthread_mutex_lock(&store->lock);
    if (!store->spare)
        store->spare = take_ptr(dir);
    pthread_mutex_unlock(&store->lock);
    if (dir)
        (void)rmdir(dir);
    free(dir);
}

static uint64_t size_of(const json_t *result)
{
    static const char *const texts[] = { "stdout", "stdout_tail", "stderr", "stderr_tail" };
    uint64_t size = sizeof(struct mcp_run);
    json_t *file;
    size_t i;

    for (i = 0; i < ARRAY_LEN(texts); i++)
        size += json_string_length(json_object_get(result, texts[i]));
    json_array_foreach(json_object_get(result, "files"), i, file)
        if (json_is_string(json_object_get(file, "saved")))
            size += (uint64_t)json_integer_value(json_object_get(file, "size"));
    return size;
}

/* Under the lock: takes what is too much out of the list. */
static struct mcp_run *cut(struct mcp_store *store)
{
    struct mcp_run **at = &store->newest, *rest;
    uint64_t bytes = 0;

    for (unsigned int n = 0; *at; at = &(*at)->next, n++) {
        bytes += (*at)->bytes;
        if (n >= RUNS_MAX || (n && bytes > store->max))
            break;
    }
    rest = *at;
    *at = NULL;
    return rest;
}

void mcp_store_add(struct mcp_store *store, json_t *result, char *dir)
{
    struct mcp_run *run = calloc(1, sizeof(*run)), *old;

    if (!run) {
        free(dir);
        return;
    }
    *run = (struct mcp_run){ .result = json_incref(result), .dir = dir, .bytes = size_of(result) };
    pthread_mutex_lock(&store->lock);
    run->next = store->newest;
    store->newest = run;
    old = cut(store);
    pthread_mutex_unlock(&store->lock);
    free_runs(old);
}

static bool is_run(const struct mcp_run *run, const char *id)
{
    const char *own = json_string_value(json_object_get(run->result, "id"));

    return !id || (own && !strcmp(own, id));
}

json_t *mcp_store_find(struct mcp_store *store, const char *id)
{
    json_t *result = NULL;

    pthread_mutex_lock(&store->lock);
    for (const struct mcp_run *run = store->newest; run && !result; run = run->next)
        if (is_run(run, id))
            result = json_incref(run->result);
    pthread_mutex_unlock(&store->lock);
    return result;
}

json_t *mcp_store_list(struct mcp_store *store)
{
    json_t *list = json_array();

    pthread_mutex_lock(&store->lock);
    for (const struct mcp_run *run = store->newest; run; run = run->next)
        json_array_append(list, run->result);
    pthread_mutex_unlock(&store->lock);
    return list;
}

/* Under the lock; the number of ids: it is not there. */
static unsigned int find_id(const struct mcp_store *store, enum mcp_owned kind, const char *id)
{
    unsigned int i = 0;

    while (i < store->owned[kind].n && strcmp(store->owned[kind].ids[i], id) != 0)
        i++;
    return i;
}

bool mcp_store_own(struct mcp_store *store, enum mcp_owned kind, const char *id)
{
    bool fits;

    pthread_mutex_lock(&store->lock);
    fits = store->owned[kind].n < most[kind];
    if (fits)
        snprintf(store->owned[kind].ids[store->owned[kind].n++], ENCODING_ID_SIZE, "%s", id);
    pthread_mutex_unlock(&store->lock);
    return fits;
}

bool mcp_store_owns(struct mcp_store *store, enum mcp_owned kind, const char *id)
{
    bool owns;

    pthread_mutex_lock(&store->lock);
    owns = find_id(store, kind, id) < store->owned[kind].n;
    pthread_mutex_unlock(&store->lock);
    return owns;
}

void mcp_store_disown(struct mcp_store *store, enum mcp_owned kind, const char *id)
{
    unsigned int at, last;

    pthread_mutex_lock(&store->lock);
    at = find_id(store, kind, id);
    if (at < store->owned[kind].n) {
        last = --store->owned[kind].n;
        memmove(store->owned[kind].ids[at], store->owned[kind].ids[last], ENCODING_ID_SIZE);
    }
    pthread_mutex_unlock(&store->lock);
}
