/* Commands: one const struct in one file each.  Two programs have them: `sandbox-run`, linked with
 * little, has those that start a run; the full one has them all. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/err.h"
#include "cli/options.h"
#include "model/result.h"

/* Exit statuses of our own; everything else is the program's. */
enum {
    EXIT_TIMEOUT = 124,
    EXIT_OURS = 125,
    EXIT_DENIED = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128 /* plus the signal's number */
};

struct action;

struct command {
    const char *name;
    const char *usage;
    const char *help;
    const char *examples;                /* NULL or lines for --help */
    const struct option *const *options; /* groups, each ended by an empty row; NULL ends them */
    unsigned int limits;                 /* bit per enum sbr_limit that is an option too */
    size_t own_size;                     /* of the values of its own options: o->own */
    const struct action *actions; /* what its first word may be (cli/action.h); NULL: nothing */
    const char *ids; /* the command that prints the words that may follow; NULL: there is none */
    bool arguments;  /* words behind the first are arguments of the program */
    bool names_language; /* its words name a language or a session, no program */
    bool command_line;   /* everything from the first word on is the command to run */
    /* True for a printed line that is no failure: others come first in --max-chars.  NULL: the
     * command has an order of its own. */
    bool (*good_line)(const char *line, size_t len);
    int (*run)(struct options *o);
};

extern const struct command cmd_run, cmd_exec;

/* Only the full program has these. */
extern const struct command cmd_plan, cmd_explain, cmd_doctor, cmd_languages, cmd_cache;
extern const struct command cmd_changes, cmd_apply, cmd_undo, cmd_workspace, cmd_serve;
extern const struct command cmd_output, cmd_config, cmd_trust, cmd_audit;
extern const struct command cmd_image, cmd_batch, cmd_compare, cmd_profile, cmd_test, cmd_verify;
extern const struct command cmd_build, cmd_golden, cmd_docker, cmd_migrate;
extern const struct command cmd_session, cmd_repl, cmd_mcp, cmd_agent, cmd_token;
extern const struct command cmd_completion, cmd_help;
/* NULL-terminated, in the order of the help. */
extern const struct command *const commands[];

struct program {
    const struct command *const *commands; /* NULL-terminated; the first may be left out */
    /* What the full program has; NULL: `hand_over` executes that one instead. */
    const struct documents *documents;
    void (*help)(const struct command *command);   /* NULL: of all */
    int (*hand_over)(char **argv, sbr_error *err); /* returns only when it fails */
};

int cli_main(const struct program *program, int argc, char **argv);

const struct command *cli_find_command(const struct command *const *list, const char *name);

/* Prints help for a command, or for the whole program when it is NULL. */
void cli_help(const struct command *command);

/* Prints the error as text or JSON and returns the exit status that belongs to it. */
int cli_fail(const struct options *o, const sbr_error *err);
int cli_error_status(const sbr_error *err);

/* Programs of ours that stand beside this one in a build tree, and under libexec when installed. */

/* Executes it; returns only when that fails, with errno of the last attempt and *err. */
int companion_exec(const char *name, char *const *argv, sbr_error *err) must_check;

/* Runs a request for the command line: streams, signals, presentation, exit status. */

/* `title` is for the header.  `stdin_is_program`: stdin was the code, so the program gets none. */
int start_request(struct options *o, const char *title, bool stdin_is_program);

/* The status of `run` and its kin, from how the program ended. */

/* `signal` is what ended us, or 0. */
int exit_status_of(const sbr_result *r, int signal);

/* The manual page, from the tables that parse the command line. */
void manual_print(void);

#endif
