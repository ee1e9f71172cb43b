/* The client's first root as the project, when the operator wants it so (--roots). */
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp_files.h"
#include "mcp/mcp_internal.h"

/* A file:// address to a path; the caller frees it.  NULL: it is none. */
static char *path_of(const char *uri)
{
    return uri && !strncmp(uri, "file:///", 8) ? mcp_uri_decode(uri + 7) : NULL;
}

/* Asks once; later calls use the same answer. */
static const char *root_of(struct mcp_call *call)
{
    struct mcp_peer *peer = call->peer;
    json_t *answer, *roots;
    char *path;

    pthread_mutex_lock(&peer->lock);
    path = peer->root;
    pthread_mutex_unlock(&peer->lock);
    if (path)
        return path;
    answer = mcp_ask_client(call, "roots/list", json_object());
    roots = json_object_get(answer, "roots");
    path = path_of(mcp_text(json_array_get(roots, 0), "uri"));
    json_decref(answer);
    pthread_mutex_lock(&peer->lock);
    if (!peer->root)
        peer->root = path;
    else
        free(path);
    path = peer->root;
    pthread_mutex_unlock(&peer->lock);
    return path;
}

bool mcp_roots_use(struct mcp_call *call, sbr_request *req)
{
    const char *root;

    if (!call->peer->server->settings.roots || req->project || req->workspace ||
        call->era.stateless || !json_object_get(call->era.capabilities, "roots"))
        return true;
    root = root_of(call);
    if (!root || sbr_request_set_project(req, root) == 0)
        return true;
    mcp_call_fail_by(call, sbr_request_error(req));
    return false;
}
