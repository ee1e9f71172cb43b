/* The one way in for clients of this tree: the command line, sessions, services.
 *
 * include/sandboxrun.h is what every program may use.  This header adds what only our own clients
 * need: what a runtime is opened for, a job with streams and events, and what can be said of a
 * language or a request without running anything.  No client looks into a job or probes the machine
 * by itself; tests/lint/layers.py checks that. */
#ifndef LIB_RUNNER_H
#define LIB_RUNNER_H

#include "model/request.h"
#include "model/result.h"
#include "plan/plan.h"
#include "plan/stage.h"

struct buf;
struct diff_options;
struct features;
struct language;
struct runner;

enum runner_use {
    RUNNER_ONCE, /* one run, or few: starts with as little work as possible */
    RUNNER_LONG, /* many runs: removes what dead runs left, keeps connections to the engine */
    RUNNER_PLAN  /* no run: finds out by trial what a run would find out by itself */
};

/* `cold`: no engine is asked.  sbr_runtime_close closes it. */
int runner_open(enum runner_use use, bool cold, sbr_runtime **ret, sbr_error *err) must_check;
/* The same for a runtime that is a part of something else. */
void runner_probe(sbr_runtime *rt, enum runner_use use);
/* What this machine offers; borrowed. */
const struct features *runner_features(const sbr_runtime *rt);

/* Where a stream of the program goes while the program runs. */
struct runner_stream {
    int fd; /* borrowed; -1: nowhere */
    /* Adds to `out` what may pass.  NULL: everything passes. */
    void (*filter)(void *state, const char *data, size_t len, struct buf *out);
    void *filter_state;
};

/* Each may be NULL.  All get `context`, and may call runner_cancel. */
struct runner_events {
    void *context;
    void (*stage)(void *context, enum stage stage);                /* it begins */
    void (*copied)(void *context, uint64_t files, uint64_t bytes); /* so far, of a tree */
    void (*queued)(void *context, unsigned int before); /* jobs that the engine starts earlier */
    void (*readable)(void *context); /* `fd` is, which the client wants watched; -1: none */
    int fd;
};

struct runner_options {
    uint64_t started_us; /* when the request came */
    bool keep_output;    /* in the result */
    struct runner_stream out, err;
    int stdin_fd;                    /* -1: the request's own stdin, then end-of-file */
    const struct diff_options *diff; /* how the result shows changes to people; NULL: not */
    struct runner_events events;
};

/* Starts a job.  Request, runtime and options must outlive it.  *ret is set before the first event,
 * also when the start fails later; NULL: there is no job. */
int runner_start(const sbr_runtime *rt, const sbr_request *req,
                 const struct runner_options *options, struct runner **ret, sbr_error *err)
    must_check;
/* Ends the run as a time limit would; the second time at once. */
void runner_cancel(struct runner *runner);
/* Waits for the end.  The caller owns the result.  Output that was lost is an error; after a
 * cancel, readers of the output are waited for no longer than the limit `grace`. */
int runner_finish(struct runner *runner, sbr_result **ret, sbr_error *err) must_check;
/* For a process that ends right after: the kernel frees the memory. */
void runner_leave(struct runner *runner);

/* The plan of the program's own stage; nothing is started.  The caller frees it before it closes the
 * runtime, because the plan borrows from it. */
int runner_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
    must_check;
/* The language's interpreter on this machine, or NULL; valid until this thread calls it again. */
const char *runner_locate(const struct language *language);
/* Where the user's settings are; false when the environment does not say. */
bool runner_config_dir(char *path, size_t size);

#endif
