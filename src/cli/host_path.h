/* Paths on the host as users give them: relative to the current directory, or below ~. */
#ifndef CLI_HOST_PATH_H
#define CLI_HOST_PATH_H

#include "base/err.h"
#include "cli/cli.h"

/* Makes the path absolute and resolves all of it but the last part, which may be a link.  An
 * absolute path stays as it is, and so does the last part when it does not exist.  The caller
 * frees *ret. */
int host_path(const char *path, char **ret, sbr_error *err) must_check;

/* The same for a place that is written to: links stay in the path, so that whoever walks it sees
 * whose they are (base/save.h). */
int host_path_unresolved(const char *path, char **ret, sbr_error *err) must_check;

/* host_path for the SRC of SRC:DST, host_path_unresolved for the DIR of PATTERN:DIR. */
int host_path_before(const char *spec, char **ret, sbr_error *err) must_check;
int host_path_behind(const char *spec, char **ret, sbr_error *err) must_check;

/* Single files of a workspace.  A command in a sandbox that has the workspace reads and writes
 * them: a link that a program left there leads nowhere on the host. */

/* Actions of `workspace`: each is a row of its table. */
int workspace_files_ls(const struct options *o, sbr_error *err);
int workspace_files_cat(const struct options *o, sbr_error *err);
int workspace_files_cp(const struct options *o, sbr_error *err);

#endif
