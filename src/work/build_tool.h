/* Which tool builds a project, by what command, and where it leaves what it makes. */
#ifndef WORK_BUILD_TOOL_H
#define WORK_BUILD_TOOL_H

#include "work/signs.h"

struct build_tool {
    const char *name;
    const char *language;     /* whose tools and packages the command finds */
    const char *const *words; /* the command, NULL-terminated; further arguments come behind it */
    /* Where it leaves what it makes, relative to the project, and what of that is only on the way:
     * '*' stays within a directory, `DIR/` is everything below it. */
    const char *const *places, *const *leaves_out;
    /* What its output has when it is not there, and the packages that bring it; NULL: none.
     * Packages alone are always installed, unless the run has a network. */
    const char *missing, *const *packages;
    /* Adds packages that the project names for its build; may be NULL. */
    int (*add_packages)(const struct signs *signs, sbr_request *req, sbr_error *err);
    const char *offline; /* an argument for a run without a network; NULL: none */
};

/* By its name, or for NULL the one that fits the files.  SBR_E_NOT_FOUND: none. */
int build_tool_find(const struct signs *signs, const char *name, const struct build_tool **ret,
                    sbr_error *err) must_check;
const char *build_tool_name(size_t i); /* NULL past the last */
/* True for a path in the project that is a product of the tool. */
bool build_tool_makes(const struct build_tool *tool, const char *path);

#endif
