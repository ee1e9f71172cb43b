/* Variables for the program: --env and --env-file. */
#ifndef CLI_ENV_FILES_H
#define CLI_ENV_FILES_H

#include "cli/options.h"

/* NAME=VALUE, or NAME for the caller's own value; one that is not set stays unset. */
int env_add(sbr_request *req, const char *text, sbr_error *err) must_check;

/* Reads every --env-file.  What --env gives counts more, wherever it stands. */
int env_files_load(struct options *o, sbr_error *err) must_check;

#endif
