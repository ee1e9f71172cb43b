/* Type checkers and linters that a project configures: how each is found and called. */
#ifndef WORK_VERIFY_TOOL_H
#define WORK_VERIFY_TOOL_H

#include "work/test_runner.h"

struct verify_tool {
    const char *check; /* "types" or "lint" */
    struct test_runner runner;
    const char *const *endings; /* of the files that it is for, NULL-terminated */
    bool takes_files;           /* their names follow the command; otherwise it takes the project */
};

/* The i-th tool of the table that the project configures; *i goes on behind it.  NULL: none. */
const struct verify_tool *verify_tool_next(const struct signs *project, size_t *i);
/* True for a file that the tool is for. */
bool verify_tool_takes(const struct verify_tool *tool, const char *path);

#endif
