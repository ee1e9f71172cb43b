/* Commands: one const struct in one file each. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/options.h"

/* Exit statuses of our own; everything else is the program's. */
enum {
    EXIT_TIMEOUT = 124,
    EXIT_OURS = 125,
    EXIT_DENIED = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128 /* plus the signal's number */
};

struct command {
    const char *name;
    const char *usage;
    const char *help;
    const char *examples; /* NULL or lines for --help */
    unsigned int bit;
    bool command_line; /* everything from the first word on is the command to run */
    int (*run)(struct options *o);
};

extern const struct command cmd_run;
extern const struct command cmd_exec;
extern const struct command cmd_plan;
extern const struct command cmd_explain;
extern const struct command cmd_doctor;
extern const struct command cmd_languages;
extern const struct command cmd_cache;
extern const struct command cmd_changes;
extern const struct command cmd_apply;
extern const struct command cmd_undo;
extern const struct command cmd_workspace;
extern const struct command cmd_serve;
extern const struct command cmd_completion;
extern const struct command cmd_help;

/* NULL-terminated, in the order of the help. */
extern const struct command *const commands[];

const struct command *cli_find_command(const char *name);

/* Prints the error as text or JSON and returns the exit status that belongs to it. */
int cli_fail(const struct options *o, const sbr_error *err);

#endif
