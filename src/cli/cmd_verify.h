/* The command `verify`: what it is given, and how it shows the verdict. */
#ifndef CLI_CMD_VERIFY_H
#define CLI_CMD_VERIFY_H

#include <limits.h>

#include "base/save.h"
#include "cli/cli.h"
#include "work/verify.h"

struct verify_options {
    bool staged, install_hook, yes;
    struct texts calls, skips;
    const char *commit, *since, *write;
};

/* What is checked: the options' request gets the project, and what differs from it. */
struct verify_input {
    struct options *o;
    const struct verify_options *own;
    const sbr_runtime *rt;
    char project[PATH_MAX];   /* empty: files by themselves */
    struct string_list files; /* that are checked */
    struct save_file write;   /* of --write */
};

/* verify_files.c */
int verify_files_collect(struct verify_input *in, sbr_error *err) must_check;

/* verify_report.c */
/* `written` is for JSON. */
void verify_report_print(const struct options *o, const struct verification *v,
                         const char *written);

/* git_hook.c: `verify --install-hook`; the exit status. */
int git_hook_install(const struct options *o);

#endif
