#include "http/agents.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/sse_stream.h"
#include "http/submission.h"

#define AGENTS_MAX 256
#define CLIENTS_MAX 64                  /* of one token; the one that was used least gives way */
#define IDLE_US (3700 * 1000000ULL)     /* sessions of tools live for an hour without a cell */
#define KEPT_BYTES ((uint64_t)64 * MIB) /* results and files of one token */

/* Threads that make sessions count them one after the other. */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void count_one(void *context, const struct ownership *o)
{
    (void)o;
    ++*(unsigned int *)context;
}

/* In a call's thread. */
static int session_made(void *context, const char *id, sbr_error *err)
{
    const struct agent *agent = context;
    struct ownership owner;
    unsigned int n = 0;
    int r;

    if (!admission_has_sessions(agent->server))
        return err_set(err, SBR_E_BUSY, "session",
                       "the memory of this machine is reserved for other sessions; close_session "
                       "ends one");
    if (agent->tenant.local)
        return 0;
    snprintf(owner.own, sizeof(owner.own), "%s", id);
    pthread_mutex_lock(&counting);
    r = agent->tenant.sessions ? ownership_each(&agent->tenant, count_one, &n, err) : 0;
    if (r == 0 && agent->tenant.sessions && n >= agent->tenant.sessions)
        r = err_set(err, SBR_E_BUSY, "session",
                    "the token allows %u sessions at once; close_session ends one",
                    agent->tenant.sessions);
    if (r == 0)
        r = ownership_add(&agent->tenant, &owner, err);
    pthread_mutex_unlock(&counting);
    return r;
}

struct ended_session {
    const struct tenant *tenant;
    const char *own;
};

static void forget_one(void *context, const struct ownership *o)
{
    const struct ended_session *ended = context;

    if (!strcmp(o->own, ended->own))
        ownership_forget(ended->tenant, o);
}

static void session_ended(void *context, const char *id)
{
    const struct agent *agent = context;
    struct ended_session ended = { &agent->tenant, id };
    sbr_error ignored;

    if (!agent->tenant.local)
        (void)!ownership_each(&agent->tenant, forget_one, &ended, &ignored);
}

static char *admit_root(void *context, const char *path)
{
    const struct agent *agent = context;

    return roots_admit(&agent->server->roots, agent->tenant.name, path);
}

static void changes_kept(void *context, const char *id)
{
    const struct agent *agent = context;

    ownership_note_changes(agent->tenant.name, id);
}

static int may_apply(void *context, const char *id, sbr_error *err)
{
    const struct agent *agent = context;

    return kept_changes_may_change(agent->server, agent->tenant.name, id, "apply", err);
}

static void free_client(struct agent_client *client)
{
    mcp_peer_free(client->peer);
    free(client);
}

void agents_close_client(struct agent_client *client)
{
    mcp_peer_leave(client->peer);
    if (client->stream)
        sse_stream_end(client->stream);
    client->stream = NULL;
    link_remove(&client->link);
    client->closed = true;
    if (!client->calls)
        free_client(client);
}

static void free_agent(struct agent *agent)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a client that was freed is in no list */
    list_each(at, &agent->clients)
        agents_close_client(link_owner(at, struct agent_client, link));
    link_remove(&agent->link);
    mcp_server_free(agent->mcp);
    sbr_request_free(agent->base);
    free(agent);
}

static int make_server(struct agent *agent, struct submission_fault *fault)
{
    const struct tenant *tenant = &agent->tenant;
    const struct roots *roots = &agent->server->roots;
    struct mcp_settings settings = {
        .token = tenant->token_id,
        .runtime = agent->server->rt,
        .ceilings = &tenant->ceilings,
        .network = tenant->network,
        .languages = tenant->languages[0] ? tenant->languages : NULL,
        .no_packages = tenant->network < NETWORK_ALLOW,
        .no_sessions = !(tenant->scopes & SCOPE_SESSIONS),
        .roots = roots_has(roots, tenant->name, false),
        .no_project = !(tenant->scopes & SCOPE_FILES) || !roots_has(roots, tenant->name, false),
        .no_apply = !roots_has(roots, tenant->name, true),
        .host = &agent->host,
        .kept_bytes = KEPT_BYTES,
    };

    if (submission_base(agent->server, tenant, agent->workspace[0] ? agent->workspace : NULL,
                        &agent->base, fault) < 0)
        return -1;
    agent->host = (struct mcp_host){ session_made, session_ended, admit_root,
                                     changes_kept, may_apply,     agent };
    settings.base = agent->base;
    return mcp_server_new(&settings, &agent->mcp, &fault->err) < 0 ? -1 : 0;
}

static struct agent *make_agent(struct exchange *x, const char *workspace)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    struct submission_fault fault = { .status = 0 };

    if (!agent) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return NULL;
    }
    *agent = (struct agent){ .server = x->server, .tenant = x->tenant };
    snprintf(agent->workspace, sizeof(agent->workspace), "%s", workspace);
    link_init(&agent->link);
    link_init(&agent->clients);
    if (make_server(agent, &fault) == 0) {
        list_append(&x->server->agents, &agent->link);
        return agent;
    }
    submission_refuse(x, &fault);
    sbr_request_free(agent->base);
    free(agent);
    return NULL;
}

/* Makes room by forgetting the one that was used least, if it has no call and no client. */
static bool has_room(struct exchange *x)
{
    struct agent *oldest = NULL;
    unsigned int n = 0;

    list_each(at, &x->server->agents) {
        struct agent *agent = link_owner(at, struct agent, link);

        n++;
        if (!agent->calls && link_is_alone(&agent->clients) &&
            (!oldest || agent->used_us < oldest->used_us))
            oldest = agent;
    }
    if (n >= AGENTS_MAX && oldest)
        free_agent(oldest);
    else if (n >= AGENTS_MAX)
        problem_reply(x, &(struct problem){ .status = HTTP_SERVICE_UNAVAILABLE,
                                            .detail = "the gateway serves as many agents as it "
                                                      "takes",
                                            .retry_s = 10 });
    return n < AGENTS_MAX || oldest;
}

struct agent *agents_find(struct exchange *x)
{
    const char *workspace = exchange_query(x, "workspace");
    struct agent *agent = NULL;

    workspace = workspace ? workspace : "";
    if (workspace[0] && !(x->tenant.scopes & SCOPE_FILES)) {
        problem_reply(x, &(struct problem){ .status = HTTP_FORBIDDEN,
                                            .detail = "the token does not allow workspaces",
                                            .remedy = "it needs the scope `files`" });
        return NULL;
    }
    list_each(at, &x->server->agents) {
        struct agent *one = link_owner(at, struct agent, link);

        if (!strcmp(one->tenant.token_id, x->tenant.token_id) &&
            !strcmp(one->tenant.name, x->tenant.name) && !strcmp(one->workspace, workspace))
            agent = one;
    }
    if (!agent && strlen(workspace) < sizeof(agent->workspace) && has_room(x))
        agent = make_agent(x, workspace);
    if (agent)
        agent->used_us = clock_now_us();
    else if (!x->response)
        problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                            .detail = "the name of the workspace is too long" });
    return agent;
}

struct agent_client *agents_add_client(struct agent *agent, mcp_send *send)
{
    struct agent_client *client = calloc(1, sizeof(*client)), *oldest = NULL;
    unsigned int n = 0;

    if (!client)
        return NULL;
    *client = (struct agent_client){ .agent = agent, .used_us = clock_now_us() };
    client->peer = mcp_peer_new(agent->mcp, send);
    link_init(&client->link);
    if (!client->peer || encoding_random_id(client->id) < 0) {
        free_client(client);
        return NULL;
    }
    list_each(at, &agent->clients) {
        struct agent_client *one = link_owner(at, struct agent_client, link);

        n++;
        oldest = !oldest || one->used_us < oldest->used_us ? one : oldest;
    }
    if (n >= CLIENTS_MAX)
        agents_close_client(oldest);
    list_append(&agent->clients, &client->link);
    return client;
}

struct agent_client *agents_find_client(struct agent *agent, const char *id)
{
    list_each(at, &agent->clients) {
        struct agent_client *client = link_owner(at, struct agent_client, link);

        if (strcmp(client->id, id) != 0)
            continue;
        client->used_us = clock_now_us();
        return client;
    }
    return NULL;
}

void agents_begin_call(struct agent *agent, struct agent_client *client)
{
    agent->calls++;
    if (client)
        client->calls++;
}

void agents_end_call(struct agent *agent, struct agent_client *client)
{
    agent->calls--;
    agent->used_us = clock_now_us();
    if (!client)
        return;
    client->used_us = agent->used_us;
    if (--client->calls == 0 && client->closed)
        free_client(client);
}

static void close_idle_clients(struct agent *agent, uint64_t now_us)
{
    list_each(at, &agent->clients) {
        struct agent_client *client = link_owner(at, struct agent_client, link);

        if (!client->calls && !client->stream && now_us > client->used_us + IDLE_US)
            agents_close_client(client);
    }
}

void agents_tick(struct server *server, uint64_t now_us)
{
    list_each(at, &server->agents) {
        struct agent *agent = link_owner(at, struct agent, link);

        close_idle_clients(agent, now_us);
        if (!agent->calls && link_is_alone(&agent->clients) && now_us > agent->used_us + IDLE_US)
            free_agent(agent);
    }
}

/* A call that did not end in time still uses its server: then the process ends with both. */
void agents_close(struct server *server)
{
    list_each(at, &server->agents) {
        struct agent *agent = link_owner(at, struct agent, link);

        if (!agent->calls)
            free_agent(agent);
    }
}
