/* Where the program comes from: --code, --file, a file, a directory, stdin or a JSON request. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "cli/options.h"

struct source {
    bool from_stdin; /* stdin was read as the program or the request */
    char title[300]; /* for the header: language and name            */
};

/* Completes o->request: language, files or code, arguments. */
int source_load(struct options *o, struct source *source, sbr_error *err) must_check;

/* Whether the program is a notebook, which only the full program can run. */
bool source_is_notebook(const struct options *o);

/* Whether the program is a file with tests and no main, and what runs them. */
enum source_tests {
    SOURCE_NO_TESTS,
    SOURCE_TESTS_OF_PROGRAM, /* the language itself */
    SOURCE_TESTS_OF_GLOBALS, /* the same, which is told what their functions are called */
    SOURCE_TESTS_OF_RUNNER   /* `test`, which only the full program has */
};
enum source_tests source_find_tests(const struct options *o);
/* The same of a file that was named as one with tests. */
enum source_tests source_tests_of(const char *path, const char *text);
/* Gives the file the name that its language wants for tests, or their functions theirs. */
int source_prepare_tests(enum source_tests how, sbr_request *req, sbr_error *err) must_check;

/* The bytes of a regular file; the caller frees them. */
int source_read_path(const char *path, char **ret, size_t *ret_len, sbr_error *err) must_check;

/* The same of the request's program in its project: 1; 0: there is none, or a link. */
int source_read_program(const sbr_request *req, char **ret, size_t *ret_len, sbr_error *err)
    must_check;

/* The name for a file that is added to the project: another one where the project has a file of its
 * own name, which the program would hide.  The caller frees it. */
int source_free_name(const struct options *o, const char *name, char **ret, sbr_error *err)
    must_check;
/* --project DIR main.py: *ret is DIR/main.py when only that exists, or NULL. */
int source_prefer_project(const struct options *o, const char *word, char **ret, sbr_error *err);
/* The rest of a path that begins with the directory, as both are written; NULL: it does not. */
const char *source_below(const char *dir, const char *path);
int source_load_directory(struct options *o, const char *path, sbr_error *err) must_check;

/* With --project: 1 when the file lies in the project, and *ret is its path there; 0 when it
 * does not. A name in the project that leads out of it is an error.  The caller frees *ret. */
int source_in_project(const struct options *o, const char *path, char **ret, sbr_error *err)
    must_check;
/* Finds the program in a directory of the project, which is relative to it. */
int source_find_main(struct options *o, const char *dir, sbr_error *err) must_check;

struct language;
struct source_files;
/* Which of the files is the program: the one that its package names, one with a usual name of a
 * main file, else the only one in a language.  `wanted` NULL: in any language; *ret is it.  `n`:
 * none is. */
size_t source_choose_main(const char *const *names, size_t n, const struct source_files *files,
                          const struct language *wanted, const struct language **ret);

/* Adds the packages that the program itself names.  `path`: the single file that it is, or NULL. */
int source_add_deps(struct options *o, const char *path, sbr_error *err) must_check;

/* Puts the program into the harness that was asked for, if any. */
int source_put_in_template(struct options *o, sbr_error *err) must_check;

#endif
