/* The command line as data: one row per option drives parsing, help, the manual and completion. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/request.h"

enum option_id {
    OPT_LANG,
    OPT_CODE,
    OPT_FILE,
    OPT_REQUEST,
    OPT_DEP,
    OPT_CHECK,
    OPT_TEMPLATE,
    OPT_SET,
    OPT_COMPILE_ARG,
    OPT_COMPILE_LIMIT,
    OPT_LANGUAGE_FILE,
    OPT_STDIN,
    OPT_ENV,
    OPT_WORKDIR,
    OPT_VOLUME,
    OPT_PROJECT,
    OPT_WORKSPACE,
    OPT_DIFF,
    OPT_KEEP,
    OPT_OUTPUT,
    OPT_NETWORK,
    OPT_ALLOW_HOST,
    OPT_ALLOW_DNS,
    OPT_POLICY,
    OPT_REQUIRE,
    OPT_ALLOW_DEGRADED,
    OPT_JSON,
    OPT_TEXT,
    OPT_QUIET,
    OPT_RAW,
    OPT_COLD,
    OPT_NO_SELFTEST,
    OPT_FRESH,
    OPT_OLDER,
    OPT_MAX_SIZE,
    OPT_YES,
    OPT_FORCE,
    OPT_STATUS,
    OPT_SLOTS,
    OPT_QUEUE,
    OPT_PER_CALLER,
    OPT_PARK_MIN,
    OPT_PARK_MAX,
    OPT_POOL_MEMORY,
    OPT_WARM,
    OPT_PRELOAD,
    OPT_NO_COLOR,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_VERSION,
    OPT_LIMIT /* this and the following: OPT_LIMIT + enum sbr_limit */
};

struct option_def {
    int id;
    char letter; /* 0: no short form */
    const char *name;
    const char *metavar; /* NULL: a switch */
    const char *help;
    unsigned int commands; /* bit per command that takes it */
};

enum command_bit {
    FOR_RUN = 1,
    FOR_EXEC = 2,
    FOR_PLAN = 4,
    FOR_DOCTOR = 8,
    FOR_OTHERS = 16,
    FOR_LANGUAGES = 32,
    FOR_CACHE = 64,
    FOR_CHANGES = 128,
    FOR_APPLY = 256,
    FOR_UNDO = 512,
    FOR_WORKSPACE = 1024,
    FOR_SERVE = 2048
};

#define N_PLAIN_OPTIONS OPT_LIMIT
extern const struct option_def option_defs[N_PLAIN_OPTIONS];

/* All options of a command, limits included, one after the other; false past the last. */
bool option_at(size_t index, struct option_def *ret);

/* Of `serve`, as they were written; NULL: not given. */
struct serve_options {
    const char *slots, *queue, *per_caller, *park_min, *park_max, *pool_memory, *warm, *preload;
    bool status;
};

/* What a command line asks for. */
struct options {
    sbr_request *request; /* limits, environment, volumes, policy and tier are set in it already */
    const char *lang;
    const char *code;
    const char **files; /* --file, in order */
    size_t n_files;
    const char *request_path;
    const char *template; /* a file, or the name of a shipped one */
    const char **sets;    /* NAME=VALUE, in order                 */
    size_t n_sets;
    const char **language_files;
    size_t n_language_files;
    const char *stdin_path;
    bool json, text, quiet, raw, no_color, help, version;
    bool no_selftest, fresh;
    bool cold;                    /* no engine is asked */
    const char *older, *max_size; /* of `cache prune` */
    bool yes;                     /* what would be asked is answered */
    const char **force;           /* paths that are applied or undone though they conflict */
    size_t n_force;
    struct serve_options serve;
    int verbose;
    char **argv;       /* the whole command line */
    char **positional; /* before "--"  */
    size_t n_positional;
    char **rest;    /* after "--", NULL-terminated; NULL when there was none */
    bool want_rest; /* the first positional starts `rest`, as for exec */
};

/* Parses argv (without the command's name).  Borrows strings from it. */
int options_parse(struct options *o, char **argv, unsigned int command, sbr_error *err) must_check;
void options_done(struct options *o);

#endif
