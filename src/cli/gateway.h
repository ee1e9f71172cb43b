/* The program `sandbox-run-http`, which has HTTP, tokens and what they need. */
#ifndef CLI_GATEWAY_H
#define CLI_GATEWAY_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/options.h"
#include "config/gateway_options.h"

#define GATEWAY_MAX_WORDS 256

struct gateway_word {
    const char *option, *value;
};

struct gateway_command {
    const char *words[GATEWAY_MAX_WORDS + 1];
    size_t n;
};

/* What `serve` hands on, as it was written. */
#define GATEWAY_FIELD_OF_VALUE(field, name, metavar, help) struct texts field;
#define GATEWAY_FIELD_OF_SWITCH(field, name, help) bool field;
struct gateway_options {
    const char *address; /* NULL: no gateway */
    GATEWAY_OPTIONS(GATEWAY_FIELD_OF_VALUE, GATEWAY_FIELD_OF_SWITCH)
};
/* Their rows, for a command whose own options begin with the struct. */
extern const struct option gateway_option_rows[];

/* Refuses options of the gateway where there is none: they would be ignored in silence. */
int gateway_check(const struct gateway_options *given, sbr_error *err) must_check;
/* Adds an option, unless it is NULL, and its value, unless it is NULL.  What does not fit is an
 * error of gateway_exec. */
void gateway_add(struct gateway_command *command, const char *option, const char *value);
/* The command line that serves with these options. */
void gateway_fill(struct gateway_command *command, const struct gateway_options *given);
/* Returns only when it fails. */
int gateway_exec(const struct gateway_command *command, sbr_error *err) must_check;
/* A child that ends with this process; its pid.  It writes one byte to `ready_fd` when it serves.
 * Its stderr is `words_fd`, and then it has no other stream of ours; -1: it has ours. */
pid_t gateway_start(const struct gateway_command *command, int ready_fd, int words_fd,
                    sbr_error *err) must_check;

/* `serve --status`. */
#define SERVE_STATUS_NONE 1 /* exit status: no engine runs */

/* Asks the engine that runs, and prints its answer; the exit status. */
int serve_status_print(const struct options *o);

#endif
