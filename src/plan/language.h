/* A language is data: languages/NAME.yaml, compiled into a table when the project is built. */
#ifndef PLAN_LANGUAGE_H
#define PLAN_LANGUAGE_H

#include <stddef.h>

struct selftest {
    const char *code;
    const char *stdin_text; /* may be NULL */
    const char *stdout_text;
    int exit_code;
};

struct language {
    const char *name;
    const char *about;
    const char *const *aliases;    /* every list is NULL-terminated                     */
    const char *const *extensions; /* with the dot                                      */
    const char *const *shebangs;   /* base names of interpreters in a #! line           */
    const char *const *mains;      /* names of the main file of a directory, in order    */
    const char *const *binaries;   /* where the real interpreter may be, best first      */
    const char *package;           /* Debian package that brings it                     */
    const char *source;            /* what a program without a file name is called      */
    const char *const *run;        /* argv with ${binary} and ${source}                  */
    const char *const *env;        /* NAME=VALUE                                        */
    struct selftest selftest;
};

/* NULL-terminated, sorted by name; generated from languages/. */
extern const struct language *const language_table[];

const struct language *language_find(const char *name_or_alias);
const struct language *language_for_extension(const char *file_name);
/* `line` is the first line of a program, with or without its newline. */
const struct language *language_for_shebang(const char *line, size_t len);

#endif
