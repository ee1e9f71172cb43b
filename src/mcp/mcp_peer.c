/* A client: what it is sent, and what it wants to know. */
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp_internal.h"

#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"

const char *const mcp_log_levels[MCP_N_LOG_LEVELS] = { "debug", "info",     "notice", "warning",
                                                       "error", "critical", "alert",  "emergency" };

struct mcp_peer *mcp_peer_new(struct mcp_server *server, mcp_send *send)
{
    struct mcp_peer *peer = calloc(1, sizeof(*peer));

    if (!peer)
        return NULL;
    *peer = (struct mcp_peer){ .server = server, .send = send, .log_level = MCP_N_LOG_LEVELS };
    peer->awaited = json_object();
    peer->answers = json_object();
    pthread_mutex_init(&peer->lock, NULL);
    pthread_cond_init(&peer->woken, NULL);
    return peer;
}

void mcp_peer_free(struct mcp_peer *peer)
{
    if (!peer)
        return;
    json_decref(peer->capabilities);
    json_decref(peer->awaited);
    json_decref(peer->answers);
    free(peer->root);
    pthread_cond_destroy(&peer->woken);
    pthread_mutex_destroy(&peer->lock);
    free(peer);
}

void mcp_peer_send(struct mcp_peer *peer, void *context, json_t *message)
{
    scoped_free char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    enum mcp_kind kind = !json_object_get(message, "method") ? MCP_RESPONSE
                         : json_object_get(message, "id")    ? MCP_REQUEST
                                                             : MCP_NOTIFICATION;

    json_decref(message);
    if (text)
        peer->send(context, kind, text, strlen(text));
}

int mcp_log_level_from_name(const char *name)
{
    for (int i = 0; name && i < MCP_N_LOG_LEVELS; i++)
        if (!strcmp(mcp_log_levels[i], name))
            return i;
    return -1;
}

int mcp_peer_log_level(struct mcp_peer *peer, const struct mcp_era *era)
{
    int level;

    if (era->stateless) {
        level = mcp_log_level_from_name(mcp_text(era->meta, META_LOG_LEVEL));
        return level < 0 ? MCP_N_LOG_LEVELS : level;
    }
    pthread_mutex_lock(&peer->lock);
    level = peer->log_level;
    pthread_mutex_unlock(&peer->lock);
    return level;
}
