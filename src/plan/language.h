/* A language is data: languages/NAME.yaml, turned into a table at build time, or a user's own file
 * that is read at run time (plan/language_file.h).  One schema reads both. */
#ifndef PLAN_LANGUAGE_H
#define PLAN_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

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

/* A file in which a project lists its dependencies. */
struct manifest {
    const char *file;
    /* Extended regular expression: the file names something to install; NULL: always. */
    const char *when;
    /* The same: then files of that name in directories below belong to it, as those of the members
     * of a workspace.  NULL: never. */
    const char *below;
};

/* A host that the client asks when nothing else is configured.  The patterns are extended regular
 * expressions for a line of its configuration, or for NAME=VALUE; case does not matter. */
struct registry {
    const char *host;   /* HOST[:PORT] */
    const char *unless; /* the configuration replaces the host; NULL: never */
    const char *when;   /* the host applies nevertheless; without `unless`, only then */
};

/* A stage before the program's own, in a sandbox of its own. */
struct stage_def {
    struct words run;     /* command; empty: the language lacks this stage */
    struct words env;     /* NAME=VALUE, added to the language's */
    struct words drivers; /* those that only parts which name them have */
    struct words limits;  /* OPTION=VALUE, as in timeout=60s */
    bool network;
    bool
        optional; /* others work without what it leaves, only slower: it is made after the answer */
    bool system;  /* its result depends on other packages of the system, such as headers */
    /* With a network: the client's own configuration on the host. */
    struct words config_env;
    struct words config_files; /* ~/ is the home directory */
    struct words config_shown; /* visible inside anyway; ${home}/ is the toolchain's */
    /* With the hosts in that configuration: all that the stage can reach. */
    struct registry *registries;
    unsigned int n_registries;
    struct manifest *manifests;
    unsigned int n_manifests;
    struct words locks; /* files that accompany a manifest */
    /* Patterns of names: what of a project decides the result, for tests and builds of it. */
    struct words sources;
};

/* Drivers that wait in a standby sandbox before their program is known; see docs/languages.md.
 * Without `run`, the sandbox waits without a driver and executes the language's own command. */
struct warm_def {
    struct words run;     /* command of a driver that waits for a program */
    struct words compile; /* the same for the compile stage */
    struct words zygote;  /* started once and forked for each run that sees no foreign code */
    struct words drivers; /* as of a stage */
    bool fixed_env;       /* the drivers cannot change their environment */
};

/* Runs the program and leaves samples of where its time goes in /work/PROFILE_FILE: lines as
 * work/functions.h reads them. */
struct profile_def {
    struct words run; /* as `run` of the language; empty: the language has no profile */
    struct words drivers;
};
#define PROFILE_FILE ".sandbox-run-profile"

/* The kernel of a session: it is told one cell after the other; see docs/internals/session.md. */
struct session_def {
    struct words run;      /* command of the kernel's driver; empty: the language has no sessions */
    struct words drivers;  /* as of a stage */
    const char *extension; /* of the file that the cells of a session are exported to */
    const char *keeps;     /* what stays from one cell to the next, where it is not as usual */
};

/* A file of a package that names its main file. */
struct main_in {
    const char *file;
    const char *match; /* extended regular expression; its first group is the path */
};

/* Patterns of a diagnosis are extended regular expressions for one line.  Each \n in a pattern
 * extends it by one line, and \t is a tab. */
struct frame_rule {
    const char *match;
    int file, line, column, function; /* numbers of groups; 0: absent */
};

/* Texts may contain \1 to \9, the groups of the match, and ${nearest:\1}: the most similar word of
 * the source; words after a | are candidates, too: ${nearest:\1|print|len}.  A suggestion may have
 * alternatives, separated by " || ": the first whose nearest words exist applies. */
struct error_rule {
    const char *match;
    const char *type;
    const char *message;    /* NULL: the line itself */
    const char *suggestion; /* may be NULL */
    const char *link;       /* NULL: the language's */
    int file, line, column; /* groups; 0: from the frames */
};

struct diagnosis_rules {
    const char *link;
    bool innermost_first; /* the trace starts where the error happened */
    /* Paths of frames that are not the user's, as extended regular expressions. */
    struct words ours;
    struct frame_rule *frames;
    unsigned int n_frames;
    struct error_rule *errors; /* for the decisive line; the first that matches applies */
    unsigned int n_errors;
};

struct language {
    const char *name;
    const char *about;
    struct words aliases;
    struct words extensions;   /* with the dot */
    struct words shebangs;     /* base names of interpreters in a #! line */
    struct words mains;        /* names of the main file of a directory, best first */
    struct main_in main_in;    /* precedes them */
    struct words binaries;     /* where the real interpreter or compiler may be */
    struct words needs;        /* other paths of the host that it reads */
    struct words version;      /* command that prints it; empty: ${binary} --version */
    const char *release;       /* its own version, if that is not the tool's; may be NULL */
    const char *package;       /* Debian package that provides it */
    const char *image;         /* whose files its programs see unless the request names one */
    const char *source;        /* file name of a program that has none */
    const char *literal;       /* form of string literals: see plan/template.h */
    const char *opening;       /* without this text a program is only printed; may be NULL */
    const char *deps_link;     /* a name in the root that links to that name in ${deps} */
    struct words env;          /* NAME=VALUE, for every stage */
    struct words drivers;      /* small programs of ours at ${driver}/NAME */
    struct words driver_texts; /* their contents, in the same order */
    struct stage_def prepare;  /* once for each toolchain; leaves ${prepared} */
    struct stage_def install;  /* dependencies; leaves ${deps} */
    struct stage_def compile;  /* leaves ${build} */
    struct stage_def setup;    /* in its place for tests: makes the project's own package usable */
    struct stage_def check;    /* checks the program without running it */
    struct words run;
    struct words command; /* before a command of the user's, where there is a layer for it */
    bool is_tools;        /* without a program of its own: for a command of the user's */
    struct warm_def warm;
    struct session_def session;
    struct profile_def profile;
    struct diagnosis_rules diagnosis;
    struct selftest selftest;
    /* Of one that was added: the file that has it; or it is that of the same name before it, with
     * another binary. */
    const char *file;
    bool other_binary;
};

/* NULL-terminated, sorted by name; generated from languages/. */
extern const struct language *const language_table[];

/* A user's own language precedes the built-in ones and hides one of the same name.  It must live as
 * long as the process. */
int language_add(const struct language *language);
/* Those that were added, in that order; NULL at the end. */
const struct language *language_added_at(size_t index);
/* All languages, by index; NULL at the end. */
const struct language *language_at(size_t index);

/* Ignores @VERSION at the end of the name. */
const struct language *language_find(const char *name_or_alias);
/* True when a list with commas has the language, by its name or an alias; also for a word that is
 * no language, such as `command`. */
bool language_is_listed(const char *list, const char *name);
/* The same as language_find; the error has the nearest name. */
int language_resolve(const char *name, const struct language **ret, sbr_error *err);
/* The part after the @ of a name, or NULL. */
const char *language_version_of(const char *name);
const struct language *language_for_extension(const char *file_name);
/* `line` is the first line of a program, with or without its newline. */
const struct language *language_for_shebang(const char *line, size_t len);

/* Which files list a project's dependencies, and what they ask for. */

/* True when a file is this manifest, or one of that name below it. */
bool manifest_is(const struct manifest *manifest, const char *path);
/* True when the text of the manifest asks for packages. */
bool manifest_asks(const struct manifest *manifest, const char *text);
/* True when there are more of that name below the manifest, as in a workspace. */
bool manifest_has_members(const struct manifest *manifest, const char *text);

#endif
