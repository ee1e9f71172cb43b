/* What a server has made for its clients: the last results with the files that runs left, and the
 * ids of sessions and changesets.  An id that is not here is none for a tool, because a session or
 * a changeset of somebody else may be wider than what this operator allows. */
#ifndef MCP_MCP_STORE_H
#define MCP_MCP_STORE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/encoding.h"

enum mcp_owned { MCP_SESSION, MCP_CHANGES, MCP_N_OWNED };

#define MCP_SESSIONS_MAX 16
#define MCP_CHANGES_MAX 256

struct mcp_run {
    struct mcp_run *next; /* older */
    json_t *result;
    char *dir; /* with its files; NULL: none */
    uint64_t bytes;
};

struct mcp_store {
    pthread_mutex_t lock; /* of all below */
    struct mcp_run *newest;
    char *place; /* the directory of all dirs; NULL until the first */
    char *spare; /* an empty one of them; NULL: none */
    uint64_t n_dirs, max;
    struct {
        char ids[MCP_CHANGES_MAX][ENCODING_ID_SIZE];
        unsigned int n;
    } owned[MCP_N_OWNED];
};

/* `max`: bytes that are kept; 0: the default. */
void mcp_store_init(struct mcp_store *store, uint64_t max);
/* Removes all files. */
void mcp_store_done(struct mcp_store *store);

/* A new directory for the files of a run; the caller frees the path, or gives it to
 * mcp_store_add.  NULL with errno. */
char *mcp_store_make_dir(struct mcp_store *store);
/* An empty one is used again: on some disks a directory takes milliseconds to remove. */
void mcp_store_return_dir(struct mcp_store *store, char *dir);
/* Keeps a result of docs/result.md, and takes `dir` over; the oldest give way. */
void mcp_store_add(struct mcp_store *store, json_t *result, char *dir);
/* The result of a run by its id, or with NULL the newest; the caller has a reference.  NULL: there
 * is none. */
json_t *mcp_store_find(struct mcp_store *store, const char *id);
/* All results, newest first; the caller has the reference. */
json_t *mcp_store_list(struct mcp_store *store);

/* False: there are too many. */
bool mcp_store_own(struct mcp_store *store, enum mcp_owned kind, const char *id);
bool mcp_store_owns(struct mcp_store *store, enum mcp_owned kind, const char *id);
void mcp_store_disown(struct mcp_store *store, enum mcp_owned kind, const char *id);

#endif
