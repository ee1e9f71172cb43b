/* `sandbox-run token create|list|revoke`, which this program does for the command line. */
#ifndef HTTP_TOKEN_COMMAND_H
#define HTTP_TOKEN_COMMAND_H

#include "base/err.h"

/* argv[0] is "token"; prints JSON, or text. */
int token_command(int argc, char **argv, sbr_error *err) must_check;

#endif
