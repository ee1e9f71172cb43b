/* What clients are told of the tools: tools.json. */
#include <string.h>

#include "base/json_read.h"
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

static const char *const of_sessions[] = { "create_session", "run_cell",   "list_sessions",
                                           "close_session",  "write_file", "rollback_session" };
static const char *const of_projects[] = { "show_changes", "apply_changes" };

static const char *const of_applying[] = { "apply_changes" };

static void leave_out(json_t *tools, const char *const *names, size_t n)
{
    for (size_t i = json_array_size(tools); i-- > 0;)
        for (size_t k = 0; k < n; k++)
            if (!strcmp(mcp_text(json_array_get(tools, i), "name"), names[k])) {
                json_array_remove(tools, i);
                break;
            }
}

json_t *mcp_tools_load(const struct mcp_settings *settings, sbr_error *err)
{
    bool open_world = network_goes_outside(settings->base->network.mode) ||
                      (settings->grant && network_goes_outside(grant_widest(settings->grant)));
    json_t *all =
        json_read(mcp_tools_image_start, (size_t)(mcp_tools_image_end - mcp_tools_image_start),
                  &json_read_document, 0, "the table", NULL);
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
    if (settings->no_sessions)
        leave_out(list, of_sessions, ARRAY_LEN(of_sessions));
    if (settings->no_project)
        leave_out(list, of_projects, ARRAY_LEN(of_projects));
    if (settings->no_apply)
        leave_out(list, of_applying, ARRAY_LEN(of_applying));
    json_incref(list);
    json_decref(all);
    return list;
}

json_t *mcp_tools_describe(const struct mcp_server *server, const char *name)
{
    json_t *tool;
    size_t i;

    json_array_foreach(server->tools, i, tool)
        if (name && !strcmp(mcp_text(tool, "name"), name))
            return tool;
    return NULL;
}

bool mcp_server_header(const struct mcp_server *server, const char *tool, size_t i,
                       const char **ret_argument, const char **ret_header)
{
    json_t *schema = json_object_get(mcp_tools_describe(server, tool), "inputSchema"), *property;
    const char *name;

    json_object_foreach(json_object_get(schema, "properties"), name, property) {
        const char *header = mcp_text(property, "x-mcp-header");

        if (!header || i-- > 0)
            continue;
        *ret_argument = name;
        *ret_header = header;
        return true;
    }
    return false;
}
