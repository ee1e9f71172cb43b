/* MCP on stdin and stdout: one message in each line. */
#ifndef MCP_MCP_STDIO_H
#define MCP_MCP_STDIO_H

#include "mcp/mcp.h"

/* Serves until stdin ends or `stop_fd` is readable. */
int mcp_stdio_serve(struct mcp_server *server, int in_fd, int out_fd, int stop_fd, sbr_error *err)
    must_check;

#endif
