/* What clients are told of the tools: tools.json. */
#include <string.h>

#include "mcp/mcp_internal.h"

extern const char mcp_tools_image_start[], mcp_tools_image_end[];

/* Puts what several schemas share in the place of {"$ref": NAME}. */
static void fill_in(json_t *value, const json_t *shared)
{
    const char *key, *name;
    json_t *member;
    size_t i;

    json_object_foreach(value, key, member) {
        name = mcp_text(member, "$ref");
        if (name)
            json_object_set(value, key, json_object_get(shared, name));
        else
            fill_in(member, shared);
    }
    json_array_foreach(value, i, member)
        fill_in(member, shared);
}

json_t *mcp_tools_load(bool open_world, sbr_error *err)
{
    json_t *all = json_loadb(mcp_tools_image_start,
                             (size_t)(mcp_tools_image_end - mcp_tools_image_start), 0, NULL);
    json_t *list = json_object_get(all, "tools"), *shared;

    if (!list) {
        json_decref(all);
        err_set(err, SBR_E_BUG, "mcp", "the description of the tools cannot be read");
        return NULL;
    }
    shared = json_object_get(all, "shared");
    json_object_set_new(json_object_get(shared, "writes"), "openWorldHint",
                        json_boolean(open_world));
    fill_in(list, shared);
    json_incref(list);
    json_decref(all);
    return list;
}

json_t *mcp_tools_describe(const struct mcp_server *server, const char *name)
{
    json_t *tool;
    size_t i;

    json_array_foreach(server->tools, i, tool)
        if (!strcmp(mcp_text(tool, "name"), name))
            return tool;
    return NULL;
}
