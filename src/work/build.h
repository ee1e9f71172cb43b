/* Builds a project: finds its tool, runs it in a sandbox, and reads what it said and made. */
#ifndef WORK_BUILD_H
#define WORK_BUILD_H

#include "work/build_artifacts.h"
#include "work/build_messages.h"

struct build {
    const struct build_tool *tool;
    sbr_result *result;
    struct build_messages messages;
    struct build_artifacts artifacts;
    bool compared;  /* there was a second build */
    char *differs;  /* the first artifact that it made otherwise; NULL: none */
    bool installed; /* the tool came as a package */
};

/* The request names the project (sbr_request_set_project), or has its files; its arguments go to
 * the tool.  It is completed here: language, command, limits for a build. */
int build_run(sbr_runtime *rt, sbr_request *req, const sbr_build *how, struct build *ret,
              sbr_error *err) must_check;
void build_done(struct build *build);
/* True when the tool succeeded, and a second build made the same. */
bool build_succeeded(const struct build *build);
/* The result of the run with the fields of the build in front; NULL without memory. */
char *build_to_json(const struct build *build);

#endif
