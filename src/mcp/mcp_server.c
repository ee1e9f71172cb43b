/* What all clients of a server share. */
#include <stdlib.h>
#include <sys/random.h>

#include "lib/runner.h"
#include "mcp/mcp_internal.h"

int mcp_server_new(const struct mcp_settings *settings, struct mcp_server **ret, sbr_error *err)
{
    struct mcp_server *server = calloc(1, sizeof(*server));

    if (!server)
        return err_set_oom(err, "mcp");
    server->settings = *settings;
    grant_of_tools(settings->grant, settings->base, &server->grant);
    if (!settings->grant)
        server->grant.packages = !settings->no_packages;
    if (getrandom(server->key, sizeof(server->key), 0) != sizeof(server->key)) {
        free(server);
        return err_set_errno(err, "mcp", "cannot make a key");
    }
    server->tools = mcp_tools_load(settings, err);
    if (!server->tools) {
        free(server);
        return err->code;
    }
    if (mcp_examples_load(server, err) < 0) {
        json_decref(server->tools);
        free(server);
        return err->code;
    }
    mcp_store_init(&server->store, settings->kept_bytes);
    pthread_mutex_init(&server->lock, NULL);
    *ret = server;
    return 0;
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    mcp_session_close_all(server);
    mcp_store_done(&server->store);
    sbr_runtime_close(server->runtime);
    json_decref(server->tools);
    json_decref(server->examples);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

sbr_runtime *mcp_server_runtime(struct mcp_server *server, sbr_error *err)
{
    if (server->settings.runtime)
        return server->settings.runtime;
    pthread_mutex_lock(&server->lock);
    if (!server->runtime &&
        runner_open(RUNNER_LONG, server->settings.cold, &server->runtime, err) < 0)
        server->runtime = NULL;
    pthread_mutex_unlock(&server->lock);
    return server->runtime;
}
