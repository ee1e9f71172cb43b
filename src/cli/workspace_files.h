/* Single files of a workspace.  A command in a sandbox that has the workspace reads and writes
 * them: a link that a program left there leads nowhere on the host. */
#ifndef CLI_WORKSPACE_FILES_H
#define CLI_WORKSPACE_FILES_H

#include "cli/cli.h"

/* Actions of `workspace`: each is a row of its table. */
int workspace_files_ls(const struct options *o, sbr_error *err);
int workspace_files_cat(const struct options *o, sbr_error *err);
int workspace_files_cp(const struct options *o, sbr_error *err);

#endif
