#include "mcp/mcp_message.h"

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"

const char *mcp_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A call names files and a few settings; a text of 16 MiB may be one program. */
static const struct json_bounds message_bounds = {
    .bytes = MCP_MESSAGE_MAX,
    .values = 10000,
    .depth = 32,
};

static void bad(struct mcp_message *message, enum mcp_code code, const char *why)
{
    message->kind = MCP_BAD;
    message->code = code;
    snprintf(message->why, sizeof(message->why), "%s", why);
}

static bool is_id(const json_t *id)
{
    return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= MCP_ID_MAX);
}

static void read_response(struct mcp_message *message)
{
    bool has_result = json_object_get(message->json, "result") != NULL;
    bool has_error = json_is_object(json_object_get(message->json, "error"));

    message->kind = MCP_RESPONSE;
    if (has_result == has_error)
        bad(message, MCP_INVALID_REQUEST,
            "a message has a method, or an id with either a result or an error");
    else if (!message->id && has_result)
        bad(message, MCP_INVALID_REQUEST, "a response has the id of its request");
}

static void read_call(struct mcp_message *message, json_t *id)
{
    json_t *params = json_object_get(message->json, "params");

    message->kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
    message->params = params;
    if (id && !message->id)
        bad(message, MCP_INVALID_REQUEST,
            "the id is a whole number, or text of at most 1024 bytes");
    else if (params && !json_is_object(params))
        bad(message, MCP_INVALID_REQUEST, "params is an object");
}

void mcp_message_read(const char *text, size_t len, struct mcp_message *ret)
{
    const char *version;
    sbr_error fault;
    json_t *id;

    memset(ret, 0, sizeof(*ret));
    ret->json =
        json_read(text, len, &message_bounds, JSON_REJECT_DUPLICATES, "the message", &fault);
    if (!ret->json) {
        bad(ret, MCP_PARSE_ERROR, fault.message);
        return;
    }
    ret->memory = json_read_memory(text, len);
    if (!json_is_object(ret->json)) {
        bad(ret, MCP_INVALID_REQUEST, "a message is one JSON object; there are no batches");
        return;
    }
    id = json_object_get(ret->json, "id");
    ret->id = is_id(id) ? id : NULL;
    ret->method = mcp_text(ret->json, "method");
    version = mcp_text(ret->json, "jsonrpc");
    if (!version || strcmp(version, "2.0") != 0)
        bad(ret, MCP_INVALID_REQUEST, "jsonrpc is \"2.0\"");
    else if (json_object_get(ret->json, "method") && !ret->method)
        bad(ret, MCP_INVALID_REQUEST, "the method is text");
    else if (ret->method)
        read_call(ret, id);
    else
        read_response(ret);
}

void mcp_message_done(struct mcp_message *message)
{
    json_decref(message->json);
    message->json = NULL;
}

json_t *mcp_message_result(json_t *id, json_t *result)
{
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *mcp_message_error(json_t *id, enum mcp_code code, const char *text, json_t *data)
{
    json_t *error = json_pack("{s:i, s:s}", "code", (int)code, "message", text);

    if (data)
        json_object_set_new(error, "data", data);
    return id ? json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "error", error)
              : json_pack("{s:s, s:n, s:o}", "jsonrpc", "2.0", "id", "error", error);
}

json_t *mcp_message_call(json_t *id, const char *method, json_t *params)
{
    json_t *message = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);

    if (id)
        json_object_set(message, "id", id);
    if (params)
        json_object_set_new(message, "params", params);
    return message;
}
