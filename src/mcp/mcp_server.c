/* What all clients of a server share. */
#include <stdlib.h>

#include "lib/runner.h"
#include "mcp/mcp_internal.h"

int mcp_server_new(const struct mcp_settings *settings, struct mcp_server **ret, sbr_error *err)
{
    struct mcp_server *server = calloc(1, sizeof(*server));

    if (!server)
        return err_set_oom(err, "mcp");
    server->settings = *settings;
    server->tools = mcp_tools_load(err);
    if (!server->tools) {
        free(server);
        return err->code;
    }
    pthread_mutex_init(&server->lock, NULL);
    *ret = server;
    return 0;
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    sbr_runtime_close(server->runtime);
    json_decref(server->tools);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

sbr_runtime *mcp_server_runtime(struct mcp_server *server, sbr_error *err)
{
    pthread_mutex_lock(&server->lock);
    if (!server->runtime &&
        runner_open(RUNNER_LONG, server->settings.cold, &server->runtime, err) < 0)
        server->runtime = NULL;
    pthread_mutex_unlock(&server->lock);
    return server->runtime;
}
