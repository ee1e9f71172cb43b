/* A program that is run again and again to be measured, one run at a time. */
#ifndef WORK_MEASURE_H
#define WORK_MEASURE_H

#include "model/request.h"
#include "model/result.h"
#include "work/stats.h"

struct jsonw;

#define MEASURE_RUNS 10
#define MEASURE_MOST_RUNS 100000

struct measure {
    const sbr_request *req; /* borrowed */
    const char *program;    /* its name in the JSON, borrowed; NULL: that of its file */
    struct samples wall_us, cpu_us, memory_bytes;
};

/* What a client of this machine adds; each may be NULL. */
struct measure_hooks {
    /* A program that cannot be compiled, before that becomes an error. */
    void (*failed)(void *context, const sbr_result *result);
    void *context;
};

/* An error of a request whose runs would leave something each. */
int measure_check_request(const sbr_request *req, sbr_error *err) must_check;
/* 0 of `repeat` is MEASURE_RUNS; *ret becomes the number of runs that count. */
int measure_count(unsigned int repeat, unsigned int warm_up, unsigned int *ret, sbr_error *err)
    must_check;
/* An error of a program that could not run, or whose run was stopped. */
int measure_check(const struct measure *m, const struct measure_hooks *hooks,
                  const sbr_result *result, sbr_error *err) must_check;
/* Adds what a run took. */
int measure_add(struct measure *m, const sbr_result *result, sbr_error *err) must_check;
const char *measure_name(const struct measure *m);
/* wall_ms, cpu_ms and peak_memory_bytes. */
void measure_put_json(struct jsonw *j, struct measure *m);
void measure_done(struct measure *m);

#endif
