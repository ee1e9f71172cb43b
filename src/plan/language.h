/* A language is data: languages/NAME.yaml, compiled into a table when the project is built, or read
 * at run time from a user's own file (plan/language_file.h).  One schema reads both. */
#ifndef PLAN_LANGUAGE_H
#define PLAN_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

/* A list of strings, as the YAML reader fills it. */
struct words {
    const char **at;
    unsigned int n;
};

struct selftest {
    const char *code;
    const char *stdin_text; /* may be NULL */
    const char *stdout_text;
    int exit_code;
};

/* A project's own list of dependencies. */
struct manifest {
    const char *file;
    const char *when; /* extended regular expression: it names something to install; NULL: always */
};

/* A host that the client asks when nothing else is configured.  The patterns are extended regular expressions for a line
 * of its configuration, or NAME=VALUE; case does not matter. */
struct registry {
    const char *host;   /* HOST[:PORT]                                          */
    const char *unless; /* the configuration replaces it; NULL: it never does   */
    const char *when;   /* it counts all the same; without `unless`, only then  */
};

/* A stage before the program's own, in a sandbox of its own. */
struct stage_def {
    struct words run;    /* command; none: the language has no such stage  */
    struct words env;    /* NAME=VALUE, besides the language's             */
    struct words limits; /* OPTION=VALUE, as in timeout=60s                */
    bool network;
    bool system; /* what it leaves depends on further packages of the system, such as headers */
    /* With a network: the client's own configuration, brought in from outside. */
    struct words config_env;
    struct words config_files; /* ~/ is the home directory */
    struct words config_shown; /* visible inside anyway; ${home}/ is the toolchain's */
    /* Together with the hosts that all this names: what the stage can reach. */
    struct registry *registries;
    unsigned int n_registries;
    struct manifest *manifests;
    unsigned int n_manifests;
    struct words locks; /* files that go along with a manifest */
};

/* Programs that stand ready in a sandbox before theirs is known: see docs/languages.md.  Without `run` a sandbox stands
 * ready, and the language's own command is executed in it. */
struct warm_def {
    struct words run;     /* command of a driver that waits for a program  */
    struct words compile; /* the same for the compile stage                */
    bool zygote;          /* `run` is started once and forked for each run */
    bool fixed_env;       /* the drivers cannot change their environment   */
};

/* Patterns of a diagnosis are extended regular expressions for one line; each \n in a pattern lets it
 * see one line more, and \t is a tab. */
struct frame_rule {
    const char *match;
    int file, line, column, function; /* numbers of groups; 0: not there                     */
};

/* Texts may hold \1 to \9, groups of the match, and ${nearest:\1}: the word of the source that is
 * most like it; words after a | in it may also be suggested: ${nearest:\1|print|len}.  A suggestion may
 * have alternatives with " || " between them: the first whose nearest words exist counts. */
struct error_rule {
    const char *match;
    const char *type;
    const char *message;    /* NULL: the line itself              */
    const char *suggestion; /* may be NULL                        */
    const char *link;       /* NULL: the language's               */
    int file, line, column; /* groups; 0: from the frames         */
};

struct diagnosis_rules {
    const char *link;
    bool innermost_first; /* the trace starts with the place of the error */
    struct words ours; /* paths of frames that are not the user's, extended regular expressions */
    struct frame_rule *frames;
    unsigned int n_frames;
    struct error_rule *errors; /* for the line that counts, the first that matches */
    unsigned int n_errors;
};

struct language {
    const char *name;
    const char *about;
    struct words aliases;
    struct words extensions;   /* with the dot                                       */
    struct words shebangs;     /* base names of interpreters in a #! line            */
    struct words mains;        /* names of the main file of a directory, best first   */
    struct words binaries;     /* where the real interpreter or compiler may be       */
    struct words needs;        /* further paths of the host that it reads             */
    struct words version;      /* command that prints it; none: ${binary} --version   */
    const char *package;       /* Debian package that brings it                      */
    const char *source;        /* what a program without a file name is called       */
    const char *literal;       /* how a text is written in it: see plan/template.h   */
    const char *deps_link;     /* a name in the root that leads to that name in ${deps} */
    struct words env;          /* NAME=VALUE, of every stage                         */
    struct words drivers;      /* small programs of ours, placed at ${driver}/NAME   */
    struct words driver_texts; /* as many; read from the files of these names        */
    struct stage_def prepare;  /* once for each toolchain; what it leaves is ${prepared} */
    struct stage_def install;  /* dependencies; what it leaves is ${deps}                */
    struct stage_def compile;  /* what it leaves is ${build}                             */
    struct stage_def check;    /* of the program without running it                      */
    struct words run;
    struct warm_def warm;
    struct diagnosis_rules diagnosis;
    struct selftest selftest;
};

/* NULL-terminated, sorted by name; generated from languages/. */
extern const struct language *const language_table[];

/* Languages of the user's own come before the built-in ones and hide those of the same name.  The
 * language must live as long as the process. */
int language_add(const struct language *language);
/* All of them, one after the other; NULL at the end. */
const struct language *language_at(size_t index);

/* `name` may end in @VERSION, which is not looked at here. */
const struct language *language_find(const char *name_or_alias);
/* What follows the @ of a name, or NULL. */
const char *language_version_of(const char *name);
const struct language *language_for_extension(const char *file_name);
/* `line` is the first line of a program, with or without its newline. */
const struct language *language_for_shebang(const char *line, size_t len);

#endif
