/* Programs that are run again and again to be measured, one at a time: `compare` and `profile`. */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include "base/save.h"
#include "cli/cli.h"
#include "sandboxrun.h"
#include "work/functions.h"
#include "work/measure.h"

struct measured {
    struct options o; /* of this program: its request, its name as the only word */
    char title[300];
};

/* The program that this word names, or the options when it is NULL, with the options of the command
 * line. */
int measured_open(const struct options *o, char **word, struct measured *ret, sbr_error *err)
    must_check;
void measured_done(struct measured *m);
/* Shows why a program cannot be compiled; `context` has the options. */
void measured_show_failure(void *context, const sbr_result *result);
/* --repeat, --warm-up: a count up to MEASURE_MOST_RUNS; `text` NULL: `otherwise`. */
int measured_count(const char *option, const char *text, unsigned int otherwise, unsigned int *ret,
                   sbr_error *err) must_check;
/* "12.3 ms", "4.5 MiB" */
void measured_time(uint64_t us, char *buf, size_t size);
void measured_size(uint64_t bytes, char *buf, size_t size);

/* profile --functions: one more run, under the language's sampling profiler. */

/* Runs the program of the request once more.  `stacks` gets the samples, for tools that draw
 * flame graphs; may be NULL. */
int profile_functions_run(sbr_runtime *rt, const sbr_request *req, struct save_file *stacks,
                          struct functions *ret, sbr_error *err) must_check;
void profile_functions_print(const struct functions *f);

#endif
