#include "http/agents.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/submission.h"

#define CLIENTS_MAX 64              /* of one token; the one that was used least gives way */
#define IDLE_US (3700 * 1000000ULL) /* sessions of tools live for an hour without a cell */
#define AGENT_KEPT_BYTES ((uint64_t)64 * MIB) /* results and files of one token */

/* In a call's thread. */
static int begin_session(void *context, const sbr_request *req, void **ret, sbr_error *err)
{
    const struct agent *agent = context;
    const struct need need = need_of_session(req);
    struct refusal refusal = { 0 };
    struct held *held = NULL;

    if (ledger_take(&agent->server->holdings.ledger, &agent->tenant, &need, NULL, NULL, &held,
                    &refusal) < 0) {
        *err = refusal.err;
        return err->code;
    }
    *ret = held;
    return 0;
}

/* In a call's thread. */
static int session_made(void *context, void *held, const char *id, const sbr_request *req,
                        sbr_error *err)
{
    const struct agent *agent = context;
    struct ownership owner = { .id = "" };
    json_t *facts;
    int r = 0;

    if (!id) { /* it could not be made */
        ledger_give_back(held);
        return 0;
    }
    facts = session_facts_write(&agent->tenant, req);
    snprintf(owner.own, sizeof(owner.own), "%s", id);
    r = ownership_add(&agent->tenant, &owner, facts, err);
    json_decref(facts);
    if (r == 0)
        holdings_keep_session(agent->server, &agent->tenant, id, held);
    else
        ledger_give_back(held);
    return r;
}

struct ended_session {
    const struct grant *tenant;
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

    holdings_end_session(agent->server, id);
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
    ledger_give_back(agent->held);
    free(agent);
}

static int make_server(struct agent *agent, struct refusal *fault)
{
    const struct grant *tenant = &agent->tenant;
    const struct roots *roots = &agent->server->roots;
    struct mcp_settings settings = {
        .token = tenant->token_id,
        .runtime = agent->server->rt,
        .grant = &agent->tenant,
        .no_sessions = !(tenant->scopes & SCOPE_SESSIONS),
        .roots = roots_has(roots, tenant->name, false),
        .no_project = !(tenant->scopes & SCOPE_FILES) || !roots_has(roots, tenant->name, false),
        .no_apply = !roots_has(roots, tenant->name, true),
        .host = &agent->host,
        .kept_bytes = AGENT_KEPT_BYTES,
    };

    if (submission_base(agent->server, tenant, agent->workspace[0] ? agent->workspace : NULL,
                        &agent->base, fault) < 0)
        return -1;
    agent->host = (struct mcp_host){ begin_session, session_made, session_ended, admit_root,
                                     changes_kept,  may_apply,    agent };
    settings.base = agent->base;
    return mcp_server_new(&settings, &agent->mcp, &fault->err) < 0 ? -1 : 0;
}

static struct agent *make_agent(struct exchange *x, const char *workspace)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    struct refusal fault = { 0 };

    if (!agent) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return NULL;
    }
    *agent = (struct agent){ .server = x->server, .tenant = x->tenant };
    snprintf(agent->workspace, sizeof(agent->workspace), "%s", workspace);
    link_init(&agent->link);
    link_init(&agent->clients);
    if (ledger_take(&x->server->holdings.ledger, &x->tenant, &(struct need){ .agents = 1 }, NULL,
                    NULL, &agent->held, &fault) == 0 &&
        make_server(agent, &fault) == 0) {
        list_append(&x->server->agents, &agent->link);
        return agent;
    }
    holdings_refuse(x, &fault);
    sbr_request_free(agent->base);
    ledger_give_back(agent->held);
    free(agent);
    return NULL;
}

/* A tenant that asks for one more gives up the one that it used least, if that has no call and no
 * client; where it has none, the tenant with most agents does. */
static void make_room(struct exchange *x)
{
    struct ledger *ledger = &x->server->holdings.ledger;
    struct agent *own = NULL, *other = NULL;
    unsigned int most = 0;

    list_each(at, &x->server->agents) {
        struct agent *agent = link_owner(at, struct agent, link);
        unsigned int n = ledger_used(ledger, agent->tenant.name).agents;
        bool mine = !strcmp(agent->tenant.name, x->tenant.name);

        if (agent->calls || !link_is_alone(&agent->clients))
            continue;
        if (mine && (!own || agent->used_us < own->used_us))
            own = agent;
        if (!mine && (n > most || (n == most && agent->used_us < other->used_us))) {
            other = agent;
            most = n;
        }
    }
    if (own)
        free_agent(own);
    else if (other)
        free_agent(other);
}

/* True: one more has a place. */
static bool has_room(struct exchange *x)
{
    struct refusal ignored;
    struct held *held = NULL;

    if (ledger_take(&x->server->holdings.ledger, &x->tenant, &(struct need){ .agents = 1 }, NULL,
                    NULL, &held, &ignored) < 0)
        return false;
    ledger_give_back(held);
    return true;
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
    if (!agent && strlen(workspace) < sizeof(agent->workspace)) {
        if (!has_room(x))
            make_room(x);
        agent = make_agent(x, workspace);
    }
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
