/* In a build with test hooks only: what the conformance suite of MCP wants to find in a server
 * besides our own tools, from a file that SANDBOX_RUN_TEST_MCP names.  Results are in the file;
 * all that sends them, asks clients and checks headers is the code of every server. */
#ifndef MCP_MCP_EXAMPLES_H
#define MCP_MCP_EXAMPLES_H

#include "mcp/mcp_internal.h"

#ifdef SBR_TEST_HOOKS
/* Adds the file's tools to those of the server. */
int mcp_examples_load(struct mcp_server *server, sbr_error *err) must_check;
/* NULL: it is none of the file. */
mcp_tool_fn *mcp_examples_tool(const struct mcp_server *server, const char *name);
/* Adds those of the file to a list of "resources", "templates" or "prompts". */
void mcp_examples_list(const struct mcp_server *server, const char *kind, json_t *list);
/* The result of resources/read; NULL: the file has no such resource. */
json_t *mcp_examples_resource(const struct mcp_server *server, const char *uri);
/* Does what the prompt's steps say, and leaves its result in the call; false: there is none. */
bool mcp_examples_prompt(struct mcp_call *call, const char *name);
#else
static inline int mcp_examples_load(struct mcp_server *server, sbr_error *err)
{
    (void)server;
    (void)err;
    return 0;
}
static inline mcp_tool_fn *mcp_examples_tool(const struct mcp_server *server, const char *name)
{
    (void)server;
    (void)name;
    return NULL;
}
static inline void mcp_examples_list(const struct mcp_server *server, const char *kind,
                                     json_t *list)
{
    (void)server;
    (void)kind;
    (void)list;
}
static inline json_t *mcp_examples_resource(const struct mcp_server *server, const char *uri)
{
    (void)server;
    (void)uri;
    return NULL;
}
static inline bool mcp_examples_prompt(struct mcp_call *call, const char *name)
{
    (void)call;
    (void)name;
    return false;
}
#endif

#endif
