/* What to run: pure data that the request owns and that is checked when it is set. */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/string_list.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/outputs.h"
#include "model/publish.h"
#include "model/secret.h"

/* The isolation that a run gets, weakest first. */
enum tier { TIER_PROCESS, TIER_REDUCED, TIER_CONTAINER, N_TIERS };

const char *request_tier_name(enum tier tier);
int request_tier_from_name(const char *name, enum tier *ret, sbr_error *err) must_check;

#define REQUEST_MAX_FILES 10000
#define REQUEST_MAX_BYTES (1ULL << 30) /* all files together; stdin, too */
#define REQUEST_MAX_PATH 1024
#define REQUEST_MAX_ARGS 4096
#define REQUEST_MAX_ENV 1024
#define REQUEST_MAX_VOLUMES 16
#define REQUEST_MAX_DEPS 256
#define REQUEST_MAX_COMMANDS 256
#define REQUEST_MAX_DEP 200
#define REQUEST_MAX_CALLER 63

struct request_file {
    char *path; /* relative to the work directory, checked */
    char *data;
    size_t len;
    bool executable;
};

enum volume_mode {
    VOLUME_RO,
    VOLUME_RW, /* writes reach the host, as the owner of the source */
    VOLUME_COW /* reads the real files; every change stays in the sandbox */
};

struct request_volume {
    char *source; /* absolute, on the host */
    char *target; /* absolute, inside; never one that the sandbox provides */
    enum volume_mode mode;
    bool sockets; /* programs inside may connect to the host's sockets in it */
};

const char *request_volume_mode_name(
    const struct request_volume *volume); /* "ro", "rw+sockets", ... */

/* What messages call the parts of a request: its maker decides.  Requests of the library and of
 * JSON have the plain words; those of the command line name options. */
enum request_word {
    CALLED_VOLUME, /* begins a sentence about a value: WORD 'VALUE' ... */
    CALLED_PROJECT,
    CALLED_WORKSPACE,
    CALLED_OUTPUT,
    CALLED_DIFF,
    CALLED_KEEP,
    CALLED_CHECK,
    CALLED_ALLOW_COMMAND,
    CALLED_EXCLUDE,
    CALLED_INCLUDE,
    CALLED_NETWORK,
    CALLED_ALLOW_HOST,
    CALLED_ALLOW_DNS,
    CALLED_PUBLISH,
    CALLED_A_PROJECT, /* what to give */
    CALLED_A_COW_VOLUME,
    CALLED_AN_OUTPUT,
    CALLED_LANGUAGE, /* how to give one; begins with a blank or is empty */
    CALLED_A_PROGRAM,
    CALLED_A_VALUE, /* of a template */
    N_REQUEST_WORDS
};

#define REQUEST_MAX_TERM 64
#define REQUEST_TTY_ROWS 24 /* where the caller has no terminal whose size could be taken */
#define REQUEST_TTY_COLUMNS 80
#define REQUEST_TTY_MAX 4096 /* rows, columns */
#define REQUEST_TTY_ALL 7u   /* stdin, stdout and stderr */

/* A terminal of the program's own. */
struct request_tty {
    unsigned int rows, columns; /* rows 0: there is no terminal */
    unsigned int streams;       /* one bit for each of the fds 0, 1 and 2 that is the terminal */
    /* Variables of the environment; empty: the default and none. */
    char term[REQUEST_MAX_TERM], colorterm[REQUEST_MAX_TERM];
};

struct sbr_request {
    char *language; /* NULL: args are the command */
    /* With commas, `command` for args alone: the only languages that its runs may have, whoever
     * names them; NULL: any. */
    char *only_languages;
    /* Of every stage before the program's own, whatever the language has for it; only the given
     * ones. */
    struct limits ceilings;
    bool installs_nothing; /* files that list packages are files like others */
    char *policy;          /* NULL: "default" */
    /* Of a request in JSON, until it is complete: a harness around the program, its values, and a
     * language of the request's own. */
    char *template_name, *language_file;
    struct string_list sets; /* NAME=VALUE */
    char *workdir;           /* inside; NULL: /work */
    struct request_file *files;
    size_t n_files;
    size_t file_bytes;
    char *code; /* a program without a file of its own */
    size_t code_len;
    struct string_list args;
    struct string_list deps;         /* NAME or NAME@VERSION */
    struct string_list compile_args; /* additional arguments of the compiler */
    struct limits compile_limits;    /* only the given ones apply */
    bool command;                    /* args are the command; the language gives its tools */
    struct string_list commands;     /* with some: no other exist inside */
    bool check;                      /* compile or check, but do not run */
    /* Of a kernel that joins a living session: where its drivers are inside; NULL: as usual. */
    const char *kernel_drivers;
    bool kernel_copy; /* the same, but first the program that becomes a copy of one */
    bool kernel;      /* run the language's kernel for a session, no program */
    bool profiled;    /* run the program under the language's sampling profiler */
    /* For tests and builds: the installer sees the project, its own package is set up, and what the
     * host has installed for the language is not seen. */
    bool of_project;
    bool opens_later; /* hosts may be allowed while it runs, none at first */
    bool complete;    /* every stage of the language, also those that a program can do without */
    bool buffered;    /* stdout as the language itself buffers it in a pipe */
    /* Where the user's code is in a harness; 0: it is the whole program. */
    unsigned int code_line, code_lines;
    struct string_list env; /* NAME=VALUE */
    struct request_volume *volumes;
    size_t n_volumes;
    char *backend;  /* what makes the container around the sandbox; NULL: native */
    char *image;    /* whose files the program sees in place of the host's /usr; NULL: none */
    bool read_only; /* the program cannot change the files of the image, not even its own view */
    /* The content of /work: at most one of the two. */
    char *project;   /* a directory on the host, absolute, copy-on-write */
    char *workspace; /* the name of a work directory that is kept between runs */
    char *origin;    /* the program's directory on the host, as it was named; for hints only */
    char *program;   /* a file of the project, relative to it; NULL: the request has it */
    /* Patterns of what copy-on-write trees leave out, besides secrets, and of what they do not:
     * model/exclude.h.  `left_out`: files of a program's directory that the client left out. */
    struct string_list excludes, includes, left_out;
    bool diff;                         /* report the changes in copy-on-write trees */
    bool keep;                         /* and store them under an id */
    bool keep_output;                  /* all of stdout and stderr, in the state directory */
    uint64_t keep_seconds, keep_bytes; /* how long, and how much of all runs; 0: the default */
    /* A line about the run is kept, and its code; only the user's configuration sets it. */
    bool audit, audit_code;
    uint64_t audit_bytes; /* how much of the record is kept; 0: all */
    struct output_rules outputs;
    char *stdin_data; /* NULL: not given, the program reads end-of-file */
    size_t stdin_len;
    struct request_tty tty;
    struct limits limits;
    struct network network;          /* rules without a mode set NETWORK_ALLOW */
    bool network_given;              /* a mode was named: */
    enum network_mode network_asked; /* `localhost` with names is kept as `allow` in `network` */
    struct publish publish;          /* ports of the host that lead in */
    struct secrets secrets;          /* that are put in on the way out */
    enum tier require;
    bool require_given;
    char caller[REQUEST_MAX_CALLER + 1]; /* whose run it is, for the engine; empty: not given */
    uint8_t share;     /* percent that the caller may hold, as one of several; 0: no bound */
    bool has_options;  /* the words of its messages are options */
    sbr_error refusal; /* of the last setter of the library that refused; code 0: none has */
};

const char *request_word(const sbr_request *req, enum request_word word);

/* The public functions of sandboxrun.h check their arguments and call these. */
int request_new(const char *language, const char *policy, sbr_request **ret, sbr_error *err);
void request_free(sbr_request *req);

int request_add_file(sbr_request *req, const char *path, const void *data, size_t len,
                     sbr_error *err);
/* Replaces the content of a file of the request. */
int request_replace_file(sbr_request *req, size_t index, const void *data, size_t len,
                         sbr_error *err);
/* The program as text; the planner gives the file the name that the language uses. */
int request_set_code(sbr_request *req, const void *code, size_t len, sbr_error *err);
int request_set_stdin(sbr_request *req, const void *data, size_t len, sbr_error *err);
int request_add_arg(sbr_request *req, const char *arg, sbr_error *err);
int request_add_dep(sbr_request *req, const char *dep, sbr_error *err);
/* NAME[,NAME...]: names of commands, or paths of them on the host. */
int request_allow_commands(sbr_request *req, const char *names, sbr_error *err);
int request_add_compile_arg(sbr_request *req, const char *arg, sbr_error *err);
/* `pair` is NAME=VALUE. */
int request_add_env(sbr_request *req, const char *pair, sbr_error *err);
/* `spec` is SRC:DST[:ro|rw|cow|ro+sockets|rw+sockets]; the first colons separate.  Removes doubled
 * slashes, "." parts and trailing slashes. */
int request_add_volume(sbr_request *req, const char *spec, sbr_error *err);
/* `dir` is absolute. */
/* True for an image that is named as in a registry: neither a path nor a file of this machine. */
bool request_image_is_name(const char *ref);
/* "native", "auto", "oci:RUNTIME", "docker[:SOCKET]" or "podman[:SOCKET]". */
int request_check_backend(const char *name, sbr_error *err) must_check;
int request_set_backend(sbr_request *req, const char *name, sbr_error *err);
/* True for "native", and where none is given. */
bool request_backend_is_native(const sbr_request *req);
/* A path, or a name of the image store or of a registry. */
int request_set_image(sbr_request *req, const char *ref, sbr_error *err);
int request_set_project(sbr_request *req, const char *dir, sbr_error *err);
/* A file of the project, relative to it, which runs where it is. */
int request_set_program(sbr_request *req, const char *path, sbr_error *err);
/* A pattern of a .gitignore; see model/exclude.h. */
int request_add_exclude(sbr_request *req, const char *pattern, sbr_error *err);
int request_add_include(sbr_request *req, const char *pattern, sbr_error *err);
/* Letters, digits, '.', '_' and '-', not first a '.' or '-', at most WORKSPACE_MAX_NAME. */
#define WORKSPACE_MAX_NAME 64
int request_set_workspace(sbr_request *req, const char *name, sbr_error *err);
/* PATTERN[:DIR]; see model/outputs.h. */
int request_add_output(sbr_request *req, const char *spec, sbr_error *err);
/* A mode by its name; see model/network.h. */
int request_set_network(sbr_request *req, const char *mode, sbr_error *err);
void request_allow_dns(sbr_request *req, bool allow);
/* Adds a rule; without a mode, sets the mode `allow`. */
int request_allow_host(sbr_request *req, const char *rule, sbr_error *err);
/* [HOST:]PORT[:INSIDE]; see model/publish.h. */
int request_publish(sbr_request *req, const char *text, sbr_error *err);
/* NAME[=VALUE|=@FILE]:HOST[,HOST...], or a NAME that the configuration has; see model/secret.h. */
int request_add_secret(sbr_request *req, const char *text, sbr_error *err);
/* Only the NAME: of a request in JSON. */
int request_name_secret(sbr_request *req, const char *name, sbr_error *err);
int request_set_caller(sbr_request *req, const char *name, sbr_error *err);
int request_set_workdir(sbr_request *req, const char *dir, sbr_error *err);
void request_set_require(sbr_request *req, enum tier tier);
/* A tier by its name. */
int request_require(sbr_request *req, const char *name, sbr_error *err);
/* The weakest tier; false takes that back. */
void request_allow_degraded(sbr_request *req, bool allow);
/* A terminal of this size for stdin, stdout and stderr. */
int request_set_tty(sbr_request *req, uint64_t rows, uint64_t columns, sbr_error *err);
/* False for text that is no name of a terminal: letters, digits, '.', '_', '+' and '-'. */
bool request_is_term(const char *text);
int request_set_text(char **field, const char *text, sbr_error *err);

/* Applies what is set in `over` on top of the request: limits, variables, volumes, policy, ... */
int request_override(sbr_request *req, const sbr_request *over, sbr_error *err) must_check;

/* False when the request says nothing about the network, so that the policy may. */
bool request_has_network(const sbr_request *req);

/* Checks that the settings fit together.  Call it before planning. */
int request_check(const sbr_request *req, sbr_error *err) must_check;
/* True when the program sees a tree of the host copy-on-write. */
bool request_has_cow(const sbr_request *req);
/* The part about volumes, /work and outputs. */
int request_check_trees(const sbr_request *req, sbr_error *err) must_check;

/* The JSON form; see docs/request.md. */
int request_from_json(const char *json, size_t len, sbr_request **ret, sbr_error *err);
/* The same for JSON that was parsed already. */
struct json_t;
int request_from_value(const struct json_t *root, sbr_request **ret, sbr_error *err);

/* A request as bytes, for another process of the same build: what the struct points to follows it.
 */

/* Sets out->failed without memory. */
void request_codec_encode(const sbr_request *req, struct buf *out);
/* request_free frees it.  Refuses bytes of another build. */
int request_codec_decode(struct buf_reader *in, sbr_request **ret, sbr_error *err) must_check;

/* The files that a request brings along. */

/* A copy with a NUL after it; never NULL for no bytes, so that "empty" and "not given" differ. */
char *request_files_copy(const void *data, size_t len);
/* True when the paths are equal, or when one is a parent directory of the other. */
bool request_files_clash(const char *a, const char *b);
int request_files_refuse(const char *path, const char *other, sbr_error *err);
/* Of a list: request_files_check looks once, behind all of them, whether paths clash. */
int request_files_add(sbr_request *req, const char *path, const void *data, size_t len,
                      sbr_error *err);
int request_files_check(const sbr_request *req, sbr_error *err);

#endif
