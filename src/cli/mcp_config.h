/* What to put into the settings of a client of MCP, so that it starts `sandbox-run mcp`. */
#ifndef CLI_MCP_CONFIG_H
#define CLI_MCP_CONFIG_H

#include <stddef.h>

#include "base/err.h"

/* The names of clients; NULL past the last. */
const char *mcp_config_name(size_t i);
/* Prints the settings, with the options that this process was started with. */
int mcp_config_print(const char *name, sbr_error *err) must_check;

#endif
