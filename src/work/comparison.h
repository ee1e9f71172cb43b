/* The same inputs through two programs. */
#ifndef WORK_COMPARISON_H
#define WORK_COMPARISON_H

#include "work/check.h"
#include "work/measure.h"

#define COMPARISON_VERDICT_SIZE 160

struct comparison {
    sbr_runtime *rt;
    const sbr_compare *how;
    const struct measure_hooks *hooks;
    struct measure a, b;
    const sbr_input *inputs;
    size_t n_inputs;
    struct check check;
    unsigned int repeat;
    struct samples ratios; /* of the wall times of a round, A / B in thousandths */
    /* The first difference; `differs` 0: none. */
    size_t differs, different_input;
    char difference[CHECK_DIFFERENCE_SIZE + 80];
    struct stats ratio; /* after the end */
    char verdict[COMPARISON_VERDICT_SIZE];
};

/* The caller has set the requests of `a` and `b` and nothing else.  comparison_done comes also
 * after an error; a comparison borrows what it is given. */
int comparison_run(sbr_runtime *rt, const sbr_compare *how, const struct measure_hooks *hooks,
                   struct comparison *c, sbr_error *err) must_check;
void comparison_put_json(struct jsonw *j, struct comparison *c);
void comparison_done(struct comparison *c);

#endif
