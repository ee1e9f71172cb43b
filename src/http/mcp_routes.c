/* Routes of /mcp: the transport "Streamable HTTP" of MCP, for both eras of the protocol.
 *
 * What needs no sandbox is answered at once.  A call of a tool runs in a thread; its answer is one
 * JSON object, unless it has something to say before: then it becomes a stream of events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "base/encoding.h"
#include "http/agents.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"

#define SESSION_HEADER "Mcp-Session-Id"
#define VERSION_HEADER "MCP-Protocol-Version"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

/* One message and the answer to it. */
struct agent_call {
    struct agent *agent;
    struct agent_client *client; /* NULL: the message stands alone */
    struct mcp_peer *peer;       /* the client's, or its own */
    struct mcp_message message;
    bool stateless, bad;
    struct held *held; /* what is reserved; NULL: nothing */
    enum mcp_code code;
    char *answer;              /* NULL: none yet */
    struct offload *offload;   /* NULL: it is answered at once */
    struct sse_stream *stream; /* NULL: the answer is one object, or the client is gone */
};

static void send_message(void *context, enum mcp_kind kind, const char *text, size_t len)
{
    struct agent_call *call = context;
    const struct agent *agent = call->agent;
    char *shown = roots_hide_message(&agent->server->roots, agent->tenant.name, text, len);

    if (kind == MCP_RESPONSE && !call->answer)
        call->answer = take_ptr(shown);
    else if (call->offload && shown)
        offload_post(call->offload, shown, strlen(shown));
    free(shown);
}

static void reply_message(struct exchange *x, unsigned int status, json_t *message)
{
    exchange_reply(x, status, JSON_TYPE, json_dumps(message, JSON_COMPACT));
    json_decref(message);
}

static void refuse(struct exchange *x, unsigned int status, const struct mcp_message *message,
                   enum mcp_code code, const char *why)
{
    reply_message(x, status, mcp_message_error(message->id, code, why, NULL));
}

/* 2026-07-28 says which; before, an error is an answer like any other. */
static unsigned int status_of(const struct agent_call *call)
{
    if (call->bad)
        return HTTP_BAD_REQUEST;
    if (!call->code || !call->stateless)
        return HTTP_OK;
    return call->code == MCP_NO_METHOD  ? HTTP_NOT_FOUND
           : call->code == MCP_INTERNAL ? HTTP_INTERNAL_SERVER_ERROR
                                        : HTTP_BAD_REQUEST;
}

static bool accepts(const struct exchange *x, const char *type)
{
    const char *accept = exchange_header(x, HTTP_HEADER_ACCEPT);

    return !accept || strstr(accept, type) || strstr(accept, "*/*");
}

/* A header against the value that the message has; it may be written as =?base64?...?=. */
static bool header_is(const struct exchange *x, const char *name, const char *value)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    const char *header = exchange_header(x, name);
    size_t len = header ? strlen(header) : 0;
    scoped_free char *base64 = NULL, *decoded = NULL;
    size_t n;

    if (!header || !value)
        return !header && !value;
    while (len && (header[len - 1] == ' ' || header[len - 1] == '\t'))
        len--;
    if (len > sizeof(begin) + sizeof(end) - 2 && !strncmp(header, begin, sizeof(begin) - 1) &&
        !strncmp(header + len - 2, end, 2)) {
        base64 = strndup(header + sizeof(begin) - 1, len - sizeof(begin) - sizeof(end) + 2);
        return base64 && encoding_from_base64(base64, &decoded, &n) == 0 && n == strlen(value) &&
               !memcmp(decoded, value, n);
    }
    return len == strlen(value) && !memcmp(header, value, len);
}

static bool is_stateless(const struct exchange *x, const struct mcp_message *message)
{
    const char *version = exchange_header(x, VERSION_HEADER);
    const json_t *meta = json_object_get(message->params, "_meta");

    return (version && !mcp_version_initializes(version)) || json_object_get(meta, META_VERSION) ||
           json_object_get(meta, META_CAPABILITIES) ||
           (message->method && !strcmp(message->method, "server/discover"));
}

/* The member of the parameters that Mcp-Name repeats; NULL: none. */
static const char *name_of(const struct mcp_message *message)
{
    static const char *const named[][2] = { { "tools/call", "name" },
                                            { "prompts/get", "name" },
                                            { "resources/read", "uri" } };

    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (!strcmp(message->method, named[i][0]))
            return mcp_text(message->params, named[i][1]);
    return NULL;
}

/* What others on the way decided by headers holds for the message.  False: replied. */
static bool check_headers(struct exchange *x, const struct mcp_message *message)
{
    const char *version = mcp_text(json_object_get(message->params, "_meta"), META_VERSION);
    const char *name = name_of(message), *wrong = NULL;

    if (!exchange_header(x, VERSION_HEADER) || (version && !header_is(x, VERSION_HEADER, version)))
        wrong = "the header " VERSION_HEADER " is not the version in params._meta";
    else if (!header_is(x, "Mcp-Method", message->method))
        wrong = "the header Mcp-Method is not the method of the message";
    else if (name && !header_is(x, "Mcp-Name", name))
        wrong = "the header Mcp-Name is not the name or uri in params";
    if (wrong)
        refuse(x, HTTP_BAD_REQUEST, message, MCP_HEADER_MISMATCH, wrong);
    return !wrong;
}

/* What a header says for a value: text as it is, others as JSON; NULL: it is left out. */
static char *header_text(const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : json_dumps(value, JSON_ENCODE_ANY);
}

/* The same for arguments that the schema of the tool wants to have in headers. */
static bool check_arguments(struct exchange *x, const struct agent *agent,
                            const struct mcp_message *message)
{
    const json_t *arguments = json_object_get(message->params, "arguments");
    const char *argument, *header, *tool = mcp_text(message->params, "name");
    char name[128];

    if (!message->stateless || message->kind != MCP_REQUEST ||
        strcmp(message->method, "tools/call") != 0)
        return true;
    for (size_t i = 0; mcp_server_header(agent->mcp, tool, i, &argument, &header); i++) {
        scoped_free char *text = header_text(json_object_get(arguments, argument));

        snprintf(name, sizeof(name), "Mcp-Param-%.100s", header);
        if (header_is(x, name, text))
            continue;
        refuse(x, HTTP_BAD_REQUEST, message, MCP_HEADER_MISMATCH,
               "a header Mcp-Param-... is not the argument that it repeats");
        return false;
    }
    return true;
}

/* The client leaves: that cancels its call where each message stands alone. */
static void client_left(struct agent_call *call)
{
    if (call->stateless)
        mcp_peer_leave(call->peer);
}

static void stream_left(void *context)
{
    struct agent_call *call = context;

    call->stream = NULL;
    client_left(call);
}

static void offload_left(struct offload *o)
{
    client_left(o->extra);
}

static int work(struct offload *o, sbr_error *err)
{
    struct agent_call *call = o->extra;

    (void)err;
    call->offload = o;
    call->code = mcp_peer_handle(call->peer, &call->message);
    return 0;
}

/* The call says something before its answer. */
static void line_came(struct offload *o, const char *line, size_t len)
{
    struct agent_call *call = o->extra;
    struct exchange *x = o->x;

    if (!call->stream && x) {
        o->x = NULL;
        call->stream = sse_stream_open(x, stream_left, call);
    }
    if (call->stream)
        sse_stream_send(call->stream, line, len);
}

static void free_call(struct agent_call *call)
{
    if (!call->client)
        mcp_peer_free(call->peer);
    ledger_give_back(call->held);
    agents_end_call(call->agent, call->client);
    mcp_message_done(&call->message);
    free(call->answer);
    free(call);
}

static void call_done(struct offload *o, const sbr_error *err)
{
    struct agent_call *call = o->extra;

    (void)err;
    if (call->stream && call->answer)
        sse_stream_send(call->stream, call->answer, strlen(call->answer));
    if (call->stream) {
        sse_stream_end(call->stream);
    } else {
        o->status = call->answer ? status_of(call) : HTTP_ACCEPTED;
        o->exact = true; /* paths were hidden already */
        o->len = call->answer ? strlen(call->answer) : 0;
        o->body = take_ptr(call->answer);
    }
    free_call(call);
}

static void refuse_now(struct exchange *x, const struct mcp_message *message, const char *why,
                       unsigned int wait_s)
{
    char seconds[16];

    x->server->counters.refused++;
    refuse(x, HTTP_TOO_MANY_REQUESTS, message, MCP_INTERNAL, why);
    snprintf(seconds, sizeof(seconds), "%u", wait_s);
    exchange_add_header(x, HTTP_HEADER_RETRY_AFTER, seconds);
}

/* The token of the call was revoked. */
static void end_revoked(void *context)
{
    struct agent_call *call = context;

    mcp_peer_leave(call->peer);
}

/* False: replied. */
static bool may_start(struct exchange *x, struct agent_call *call)
{
    const struct agent *agent = call->agent;
    const struct need need = { .runs = 1,
                               .starts = 1,
                               .memory = mcp_server_memory(agent->mcp, &call->message),
                               .disk = agent->base->workspace
                                           ? agent->base->limits.value[SBR_DISK_BYTES]
                                           : 0 };
    struct refusal refusal = { .retry_s = 1 };

    if (x->server->ending)
        refuse_now(x, &call->message, "the gateway is about to end", 5);
    else if (agent->calls > AGENT_CALLS_MAX) /* the call itself is one of them */
        refuse_now(x, &call->message,
                   "the token has as many calls as it may at once; send this one again after "
                   "Retry-After",
                   1);
    else if (admit_workspace(&x->server->holdings.ledger, &x->tenant, agent->base, &refusal) < 0 ||
             ledger_take(&x->server->holdings.ledger, &x->tenant, &need, end_revoked, call,
                         &call->held, &refusal) < 0)
        refuse_now(x, &call->message, refusal.err.message, refusal.retry_s);
    return call->held;
}

/* Takes the call over. */
static void start(struct exchange *x, struct agent_call *call)
{
    const struct offload o = {
        .work = work, .done = call_done, .left = offload_left, .line = line_came, .extra = call
    };

    if (may_start(x, call))
        offload_start(x, &o);
    else
        free_call(call);
}

/* Takes the call over. */
static void answer(struct exchange *x, struct agent_call *call)
{
    call->bad = call->message.kind == MCP_BAD;
    call->code = mcp_peer_handle(call->peer, &call->message);
    if (call->answer)
        exchange_reply(x, status_of(call), JSON_TYPE, take_ptr(call->answer));
    else
        exchange_reply(x, HTTP_ACCEPTED, JSON_TYPE, strdup(""));
    free_call(call);
}

/* Takes the message over.  `client` is NULL for one that stands alone. */
static void handle(struct exchange *x, struct agent *agent, struct agent_client *client,
                   struct mcp_message *message)
{
    struct agent_call *call = calloc(1, sizeof(*call));
    struct mcp_peer *peer = client ? client->peer : mcp_peer_new(agent->mcp, send_message);

    if (!call || !peer) {
        free(call);
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        mcp_message_done(message);
        return;
    }
    *call = (struct agent_call){ .agent = agent,
                                 .client = client,
                                 .peer = peer,
                                 .message = *message,
                                 .stateless = message->stateless };
    call->message.context = call;
    agents_begin_call(agent, client);
    if (mcp_peer_may_wait(message))
        start(x, call);
    else
        answer(x, call);
}

/* A new client.  Takes the message over. */
static void initialize(struct exchange *x, struct agent *agent, struct mcp_message *message)
{
    struct agent_client *client = agents_add_client(agent, send_message);
    char id[ENCODING_ID_SIZE];

    if (!client) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        mcp_message_done(message);
        return;
    }
    memcpy(id, client->id, sizeof(id));
    handle(x, agent, client, message);
    exchange_add_header(x, SESSION_HEADER, id);
}

/* NULL: replied. */
static struct agent_client *client_of(struct exchange *x, struct agent *agent)
{
    const char *id = exchange_header(x, SESSION_HEADER);
    struct agent_client *client = id ? agents_find_client(agent, id) : NULL;
    const struct mcp_message none = { .kind = MCP_BAD };

    if (!id)
        refuse(x, HTTP_BAD_REQUEST, &none, MCP_INVALID_REQUEST,
               "send `initialize` first, and then its " SESSION_HEADER " with every message");
    else if (!client)
        refuse(x, HTTP_NOT_FOUND, &none, MCP_INVALID_REQUEST,
               "there is no such " SESSION_HEADER " any more; send `initialize` again");
    return client;
}

static void dispatch(struct exchange *x, struct mcp_message *message)
{
    struct agent *agent = agents_find(x);
    struct agent_client *client;

    if (!agent || !check_arguments(x, agent, message)) {
        mcp_message_done(message);
    } else if (message->stateless || message->kind == MCP_BAD) {
        handle(x, agent, NULL, message);
    } else if (message->kind == MCP_REQUEST && !strcmp(message->method, "initialize")) {
        initialize(x, agent, message);
    } else {
        client = client_of(x, agent);
        if (client)
            handle(x, agent, client, message);
        else
            mcp_message_done(message);
    }
}

void mcp_post(struct exchange *x)
{
    struct body_read *read = x->read;
    struct mcp_message message;

    if (!accepts(x, JSON_TYPE) || !accepts(x, SSE_TYPE)) {
        problem_reply(x, &(struct problem){ .status = HTTP_NOT_ACCEPTABLE,
                                            .detail = "the answer may be JSON or a stream",
                                            .remedy = "send `Accept: application/json, "
                                                      "text/event-stream`" });
        return;
    }
    if (read) {
        message = read->message;
        read->message = (struct mcp_message){ .json = NULL };
    } else {
        mcp_message_read(x->body.data ? x->body.data : "", x->body.len, &message);
    }
    message.stateless = message.kind != MCP_BAD && is_stateless(x, &message);
    if (message.stateless && message.kind == MCP_REQUEST && !check_headers(x, &message))
        mcp_message_done(&message);
    else
        dispatch(x, &message);
}

static void get_left(void *context)
{
    struct agent_client *client = context;

    client->stream = NULL;
}

/* Nothing but keep-alives comes here: what a call has to say comes with its answer. */
void mcp_get(struct exchange *x)
{
    struct agent *agent;
    struct agent_client *client;

    if (!exchange_header(x, SESSION_HEADER) || !accepts(x, SSE_TYPE)) {
        problem_reply(x, &(struct problem){ .status = HTTP_METHOD_NOT_ALLOWED,
                                            .detail = "a GET is for the stream of a client that "
                                                      "sent `initialize`",
                                            .remedy = "send messages by POST" });
        exchange_add_header(x, HTTP_HEADER_ALLOW, "POST, DELETE");
        return;
    }
    agent = agents_find(x);
    client = agent ? client_of(x, agent) : NULL;
    if (!client)
        return;
    if (client->stream)
        sse_stream_end(client->stream);
    client->stream = sse_stream_open(x, get_left, client);
}

void mcp_delete(struct exchange *x)
{
    struct agent *agent = agents_find(x);
    struct agent_client *client = agent ? client_of(x, agent) : NULL;

    if (!client)
        return;
    agents_close_client(client);
    exchange_reply(x, HTTP_NO_CONTENT, JSON_TYPE, strdup(""));
}
