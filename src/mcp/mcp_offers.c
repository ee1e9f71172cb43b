#include "mcp/mcp_internal.h"

#include <stdio.h>
#include <string.h>

json_t *mcp_offers_fault(struct mcp_fault *fault, enum mcp_code code, const char *text)
{
    fault->code = code;
    snprintf(fault->text, sizeof(fault->text), "%s", text);
    return NULL;
}

bool mcp_offers_has_cursor(const struct mcp_message *message, struct mcp_fault *fault)
{
    if (!json_object_get(message->params, "cursor"))
        return false;
    mcp_offers_fault(fault, MCP_INVALID_PARAMS, "there is no such page; ask without a cursor");
    return true;
}

json_t *mcp_offers_resources(struct mcp_peer *peer, const struct mcp_message *message,
                             const struct mcp_era *era, struct mcp_fault *fault)
{
    (void)era;
    return mcp_offers_has_cursor(message, fault) ? NULL : mcp_resources_list(peer->server);
}

json_t *mcp_offers_templates(struct mcp_peer *peer, const struct mcp_message *message,
                             const struct mcp_era *era, struct mcp_fault *fault)
{
    (void)era;
    return mcp_offers_has_cursor(message, fault) ? NULL : mcp_resources_templates(peer->server);
}

/* Of what a person types into a client: which run is meant.  Other arguments have no end of values.
 */
json_t *mcp_offers_complete(struct mcp_peer *peer, const struct mcp_message *message,
                            const struct mcp_era *era, struct mcp_fault *fault)
{
    const char *type = mcp_text(json_object_get(message->params, "ref"), "type");
    const json_t *argument = json_object_get(message->params, "argument");
    const char *name = mcp_text(argument, "name"), *value = mcp_text(argument, "value");
    json_t *values;

    (void)era;
    if (!type || !name || !value)
        return mcp_offers_fault(
            fault, MCP_INVALID_PARAMS,
            "completion/complete needs ref.type, argument.name and argument.value");
    values = !strcmp(type, "ref/resource") && !strcmp(name, "run_id")
                 ? mcp_resources_complete(peer->server, value)
                 : json_array();
    return json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values, "total",
                     (json_int_t)json_array_size(values), "hasMore", 0);
}

/* We have none; clients ask for them all the same, and some stop at an error. */
json_t *mcp_offers_prompts(struct mcp_peer *peer, const struct mcp_message *message,
                           const struct mcp_era *era, struct mcp_fault *fault)
{
    json_t *list;

    (void)era;
    if (mcp_offers_has_cursor(message, fault))
        return NULL;
    list = json_array();
    mcp_examples_list(peer->server, "prompts", list);
    return json_pack("{s:o}", "prompts", list);
}

json_t *mcp_offers_read(struct mcp_peer *peer, const struct mcp_message *message,
                        const struct mcp_era *era, struct mcp_fault *fault)
{
    const char *uri = mcp_text(message->params, "uri");
    sbr_error err = { 0 };
    json_t *contents;

    if (!uri)
        return mcp_offers_fault(fault, MCP_INVALID_PARAMS, "a resource has a uri");
    contents = mcp_resources_read(peer->server, uri, &err);
    if (contents)
        return contents;
    fault->data = json_pack("{s:s}", "uri", uri);
    return mcp_offers_fault(fault, era->stateless ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE,
                            err.message);
}

/* What a run has left does not change any more: a subscription is kept by sending nothing. */
json_t *mcp_offers_subscribe(struct mcp_peer *peer, const struct mcp_message *message,
                             const struct mcp_era *era, struct mcp_fault *fault)
{
    json_t *contents = mcp_offers_read(peer, message, era, fault);

    json_decref(contents);
    return contents ? json_object() : NULL;
}
