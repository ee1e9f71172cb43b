/* The program `sandbox-run-http`, which has HTTP, tokens and what they need. */
#ifndef CLI_GATEWAY_H
#define CLI_GATEWAY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define GATEWAY_MAX_WORDS 64

struct gateway_word {
    const char *option, *value;
};

struct gateway_command {
    const char *words[GATEWAY_MAX_WORDS + 1];
    size_t n;
};

/* Adds an option, unless it is NULL, and its value.  What does not fit is an error of
 * gateway_exec. */
void gateway_add(struct gateway_command *command, const char *option, const char *value);
/* Returns only when it fails. */
int gateway_exec(const struct gateway_command *command, sbr_error *err) must_check;
/* A child that ends with this process; its pid. */
pid_t gateway_start(const struct gateway_command *command, sbr_error *err) must_check;
/* Ends the child and waits for it. */
void gateway_stop(pid_t pid);

#endif
