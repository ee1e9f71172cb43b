/* The command line as data.  A command lists groups of options; a row says what one option sets.
 * The same rows drive parsing, help, the manual and completion. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/request_fields.h"

struct ask;
struct command;
struct config;
struct documents;
struct option;

/* The values of an option that can be given more than once, in order. */
struct texts {
    const char **items;
    size_t n;
};

/* What a command line asks for. */
struct options {
    const struct command *command;
    void *own;            /* what only this command has: command->own_size bytes, first zero */
    sbr_request *request; /* limits, environment, volumes, policy and tier are set in it already */
    const char *lang, *code;
    struct texts files; /* the first is the program unless something else is */
    const char *request_path;
    const char *template; /* a file, or the name of a shipped one */
    struct texts sets;    /* NAME=VALUE, for the template         */
    struct texts language_files;
    struct texts env_files;
    const char *stdin_path;
    const char *max_chars;     /* NULL: everything is printed */
    bool stream;               /* events as lines of JSON */
    const char *metrics_every; /* a duration; NULL: no metrics among the events */
    bool json, text, quiet, raw, pretty, no_pretty, no_color, help, version;
    bool update;           /* a notebook gets its outputs */
    bool display;          /* the value of a program's last expression is shown */
    bool cold;             /* no engine is asked */
    const char *diff_path; /* gets the diff in place of stderr; NULL: none */
    bool no_config;        /* neither configuration file is read */
    struct config *config; /* what the files say; NULL: nothing was read */
    bool tty, no_tty;
    int verbose;
    char **positional; /* before "--"  */
    size_t n_positional;
    char **rest; /* after "--", NULL-terminated; NULL when there was none */
    const struct documents *documents;
    /* Of a run that can be asked from elsewhere; NULL: it cannot. */
    const struct run_door *door;
    /* Of a run that asks the person at the terminal; NULL: it does not. */
    struct ask *ask;
};

struct run_door {
    int fd; /* readable: someone asks */
    void (*serve)(int fd, sbr_job *job);
};

/* `value` is NULL for a switch, unless it got one after an equals sign. */
typedef int option_set(struct options *o, const struct option *option, const char *value,
                       sbr_error *err);

option_set option_set_flag, option_set_count, option_set_text, option_set_list, option_set_request;
option_set option_set_field;

/* Which struct has the field that an option sets. */
enum option_home { IN_OPTIONS, IN_COMMAND };

struct option {
    char letter; /* 0: no short form */
    const char *name;
    const char *metavar; /* NULL: a switch */
    const char *help;
    option_set *set;
    enum option_home home;
    size_t offset; /* of the field */
    int (*request)(sbr_request *req, const char *text, sbr_error *err);
    const char *(*word)(size_t i); /* the values that it takes; NULL: any, or past the last */
    const char *ask; /* words of a command that prints values for completion; NULL: none */
    const struct limit_def *limit; /* NULL: it is none */
    const char *maybe; /* a switch that takes this after an equals sign; NULL: nothing */
    const struct request_field *field; /* of the request; NULL: none */
    enum field_group
        fields; /* the row stands for the options of these fields; OF_NONE: for itself */
};

/* What a row sets: a field, whose type decides how, or what a function of the request sets. */
#define OPTION_TARGET(where, type, field)                                                          \
    .set = _Generic(((type *)0)->field,                                                            \
        bool: option_set_flag,                                                                     \
        int: option_set_count,                                                                     \
        const char *: option_set_text,                                                             \
        struct texts: option_set_list),                                                            \
    .home = (where), .offset = offsetof(type, field)
#define OPTION_FIELD(field) OPTION_TARGET(IN_OPTIONS, struct options, field)
#define OPTION_OWN(type, field) OPTION_TARGET(IN_COMMAND, type, field)
#define OPTION_REQUEST(function) .set = option_set_request, .request = (function)

/* Groups that several commands share; an empty row ends each. */
extern const struct option options_program[], options_tools[], options_build[],
    options_language_file[], options_notebook[];
extern const struct option options_stdin[], options_trees[], options_network[];
extern const struct option options_isolation[], options_json[], options_report[], options_stream[];
extern const struct option options_output[], options_config[];
extern const struct option options_look[], options_general[], options_max_chars[];
/* For commands whose stderr has no words of programs: cli_main sends it nowhere, errors apart. */
extern const struct option options_quiet[];

#define LIMITS_ALL ((1u << N_LIMITS) - 1)

/* All options of a command, limits last. */
struct option_walk {
    const struct command *command;
    size_t group, row, field, limit;
};
/* False past the last. */
bool option_next(struct option_walk *walk, struct option *ret);

/* Where the first word stands that is neither an option of one of the commands nor an option's
 * value; 0: there is none before "--", or an option before it is unknown. */
size_t options_first_word(const struct command *const *list, char **argv);

/* Parses argv (without the command's name) for o->command.  Borrows strings from it. */
int options_parse(struct options *o, char **argv, sbr_error *err) must_check;
void options_done(struct options *o);

#endif
