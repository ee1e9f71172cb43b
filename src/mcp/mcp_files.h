/* Files of runs and sessions: their content, their addresses, and pictures among them. */
#ifndef MCP_MCP_FILES_H
#define MCP_MCP_FILES_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

struct mcp_call;

/* Adds the content of a file that a run left, or of its `stdout` or `stderr`. */
int mcp_files_of_run(const json_t *result, const char *name, struct buf *out, sbr_error *err)
    must_check;
/* False: the call has failed. */
bool mcp_files_of_session(struct mcp_call *call, const char *id, const char *name, struct buf *out)
    must_check;

/* sandbox-run://runs/ID/PATH; the caller frees it.  NULL without memory. */
char *mcp_uri_make(const char *run, const char *path);
/* The text without its %XX; the caller frees it.  NULL without memory. */
char *mcp_uri_decode(const char *text);
/* A file:// address to the path that it names on this machine, absolute, without "." and ".."; the
 * caller frees it.  NULL: it is none. */
char *mcp_uri_file(const char *uri);
/* Splits such an address; the caller frees both, which are NULL before.  False: it is none. */
bool mcp_uri_read(const char *uri, char **ret_run, char **ret_path);

/* By its first bytes; NULL: it is none that is shown. */
const char *mcp_image_type(const char *data, size_t len);
/* Adds the picture to the call's result, while there is room. */
void mcp_image_show(struct mcp_call *call, const char *type, const char *data, size_t len);
void mcp_image_of_file(struct mcp_call *call, const json_t *file);
void mcp_image_of_bundle(struct mcp_call *call, const json_t *bundle);

#endif
