/* What the sources of a verification share. */
#ifndef WORK_VERIFY_PARTS_H
#define WORK_VERIFY_PARTS_H

#include "work/verify.h"

/* verify_request.c */
/* Reads the file's content unless it is there; of a project, the file itself and no link. */
int verify_load(struct verification *v, struct verify_file *file, sbr_error *err) must_check;
/* A request like the base's, with the project and the files that it brings; the caller frees it.
 * `first`, if not NULL, is its first file. */
int verify_request(struct verification *v, struct verify_file *first, sbr_request **ret,
                   sbr_error *err) must_check;
/* The same without the project and the other files. */
int verify_request_alone(struct verification *v, struct verify_file *file, sbr_request **ret,
                         sbr_error *err) must_check;

/* verify_steps.c */
int verify_run_steps(struct verification *v, sbr_error *err) must_check;

/* verify_step.c */
bool verify_skips(const struct verification *v, const char *check);
/* Borrows `check`; copies the others, which may be NULL. */
struct verify_step *verify_step_add(struct verification *v, const char *check, const char *tool,
                                    const char *file, sbr_error *err);
/* The runner's command in a request, as one step.  An error of ours is the step's reason, except
 * that of a caller who stops. */
int verify_step_run(struct verification *v, struct verify_step *step, sbr_request *req,
                    const struct test_runner *runner, char **more, sbr_error *err) must_check;
void verify_step_end(struct verify_step *step, const sbr_result *result, bool passed);
/* By the cases of its report; `problem`, unless NULL, kept them from running. */
void verify_step_end_cases(struct verify_step *step, const char *problem);
/* An error once the caller wants no more. */
int verify_go_on(const struct verification *v, sbr_error *err) must_check;

/* verify_code.c: examples unless the project has tests, and calls. */
int verify_run_code(struct verification *v, bool tested, sbr_error *err) must_check;

#endif
