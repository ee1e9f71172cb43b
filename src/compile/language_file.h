/* languages/NAME.yaml as it is written; what the fields mean is said in plan/language.h. */
#ifndef COMPILE_LANGUAGE_FILE_H
#define COMPILE_LANGUAGE_FILE_H
#include "base/err.h"
#include "compile/document.h"

struct selftest_part {
    char *code;
    char *stdin_text; /* may be NULL */
    char *stdout_text;
    int exit_code;
};

struct language_file {
    char *name;
    char *about;
    DOCUMENT_LIST(aliases);
    DOCUMENT_LIST(extensions);
    DOCUMENT_LIST(shebangs);
    DOCUMENT_LIST(mains);
    DOCUMENT_LIST(binaries);
    char *package;
    char *source;
    DOCUMENT_LIST(run);
    DOCUMENT_LIST(env);
    struct selftest_part selftest;
};

/* Reads and checks one file.  The caller frees it. */
int language_file_load(const char *path, struct language_file **ret, sbr_error *err) must_check;
void language_file_free(struct language_file *file);

#endif
