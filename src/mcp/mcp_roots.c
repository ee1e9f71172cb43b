/* A root of the client as the project, when the operator wants it so: --roots on stdio, directories
 * that the operator has named for a tenant over HTTP. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mcp/mcp_files.h"
#include "mcp/mcp_internal.h"

#define KEY "roots"
#define PATIENCE_S 30 /* a program answers, not a person */

/* The root that may be the project, which is the caller's; NULL: none.  Then `refused` has the
 * first that may not, or is empty. */
static char *choose(const struct mcp_settings *settings, const json_t *answer, char refused[256])
{
    const struct mcp_host *host = settings->host;
    json_t *root;
    size_t i;

    refused[0] = '\0';
    json_array_foreach(json_object_get(answer, "roots"), i, root) {
        const char *uri = mcp_text(root, "uri");
        char *path = uri ? mcp_uri_file(uri) : NULL, *admitted;

        if (path && !host)
            return path;
        admitted = path ? host->admit(host->context, path) : NULL;
        free(path);
        if (admitted)
            return admitted;
        if (uri && !refused[0])
            text_copy_visibly(refused, 256, uri, strlen(uri));
    }
    return NULL;
}

/* A call without the project that its client wants says so. */
static void tell_refused(struct mcp_call *call, const char *refused)
{
    bool token = call->peer->server->settings.token != NULL;
    scoped_free char *text = text_format(
        "This call has no project: the client's root %s %s.", refused,
        token ? "lies in no directory that the operator has named for this tenant (`http.roots` of "
                "the configuration)"
              : "is no file:///PATH of a directory");

    if (!text)
        return;
    mcp_call_log(call, MCP_LOG_WARNING, json_string(text));
    mcp_call_say(call, text, strlen(text));
}

/* Where each message stands alone.  False: the client has to answer first. */
static bool ask_alone(struct mcp_call *call, char **ret, char refused[256])
{
    json_t *requests = json_pack("{s:{s:s, s:{}}}", KEY, "method", "roots/list", "params");
    json_t *answers = mcp_ask_inputs(call, requests, 0);

    json_decref(requests);
    if (!answers)
        return false;
    *ret = choose(&call->peer->server->settings, json_object_get(answers, KEY), refused);
    json_decref(answers);
    return true;
}

/* Asks once; later calls use the same answer until the client says that it changed. */
static void ask_once(struct mcp_call *call, char **ret, char refused[256])
{
    struct mcp_peer *peer = call->peer;
    json_t *answer;
    unsigned int changes;
    bool known;

    pthread_mutex_lock(&peer->lock);
    known = peer->root_known;
    changes = peer->root_changes;
    *ret = known && peer->root ? strdup(peer->root) : NULL;
    pthread_mutex_unlock(&peer->lock);
    if (known)
        return;
    answer = mcp_ask_client(call, "roots/list", json_object(), PATIENCE_S);
    *ret = choose(&peer->server->settings, answer, refused);
    json_decref(answer);
    pthread_mutex_lock(&peer->lock);
    if (!peer->root_known && changes == peer->root_changes && !call->cancelled) {
        peer->root = *ret ? strdup(*ret) : NULL;
        peer->root_known = true;
    }
    pthread_mutex_unlock(&peer->lock);
}

void mcp_roots_forget(struct mcp_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    free(peer->root);
    peer->root = NULL;
    peer->root_known = false;
    peer->root_changes++;
    pthread_mutex_unlock(&peer->lock);
}

bool mcp_roots_use(struct mcp_call *call, sbr_request *req)
{
    char refused[256] = "", *root = NULL;
    bool ok = true;

    if (!call->peer->server->settings.roots || req->project || req->workspace ||
        !json_object_get(call->era.capabilities, "roots") ||
        json_object_get(call->arguments, "session_id"))
        return true;
    if (!call->era.stateless)
        ask_once(call, &root, refused);
    else if (!ask_alone(call, &root, refused))
        return false;
    if (refused[0] && !root)
        tell_refused(call, refused);
    if (root && sbr_request_set_project(req, root) < 0) {
        mcp_call_fail_by(call, sbr_request_error(req));
        ok = false;
    }
    free(root);
    return ok;
}
