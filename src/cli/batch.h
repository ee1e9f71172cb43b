/* What the ways to run many requests share: `batch` with requests, and with cases of one program.
 */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "cli/cli.h"
#include "cli/progress.h"

struct results;

struct batch_options {
    const char *jobs, *results, *cases, *checker, *tolerance;
    bool as_completed, stop;
};

struct batch_front {
    struct options *o;
    const struct batch_options *own;
    sbr_runtime *rt;
    int signal_fd;
    const char *noun, *nouns; /* "item", "items" */
    void *context;            /* of `summarize` */
    uint64_t total, done, good, skipped;
    uint64_t ends[SBR_INSTALL_FAILED + 1]; /* by verdict; 0: errors */
    uint64_t started_us, shown_us;
    struct progress line;
    void (*summarize)(struct batch_front *front); /* NULL: counts of ends */
    sbr_error failure; /* of ours, after which nothing more is begun; code 0: none */
};

/* Opens the runtime, turns signals into the batch's stop_fd, runs it, and writes what waits among
 * the results.  The exit status. */
int batch_start(struct batch_front *front, sbr_batch *batch, struct results *results);
/* Counts one end, and draws the line of progress. */
void batch_count(struct batch_front *front, const sbr_result *result);
/* True when the run was cancelled because we were told to end. */
bool batch_was_interrupted(const struct batch_front *front, const sbr_result *result);
/* The result, or the error, as one line of JSON; the caller frees it. */
char *batch_json(const sbr_result *result, const sbr_error *err);

/* Each is the exit status of its way. */
int batch_run_requests(struct batch_front *front);
int batch_run_cases(struct batch_front *front);

#endif
