/* Runs golden cases, compares, and makes changes of what is expected from now on. */
#ifndef WORK_GOLDEN_H
#define WORK_GOLDEN_H

#include "base/encoding.h"
#include "work/golden_cases.h"
#include "work/test_report.h"

/* What a case has now; the texts are normalised. */
struct golden_now {
    bool differs; /* from what is expected, and can become it: the command ended by itself */
    struct golden_text out, err;
    int status;
    struct request_file *tree;
    size_t n_tree;
};

struct golden {
    char *dir; /* absolute; NULL: the cases are of no directory */
    struct golden_cases cases;
    struct golden_now *now; /* of each case */
    struct report report;   /* of each case, in the same order */
    char changes_id[ENCODING_ID_SIZE];
};

/* `base` has what all cases share: the project, limits, language.  With how->update, the changes
 * that make the cases pass are kept. */
int golden_run(sbr_runtime *rt, const sbr_request *base, const sbr_golden *how, struct golden *ret,
               sbr_error *err) must_check;
void golden_done(struct golden *golden);
/* Keeps what makes the cases with `chosen` pass, as changes of their directory; NULL: of all. */
int golden_keep(sbr_runtime *rt, struct golden *golden, const bool *chosen, sbr_error *err)
    must_check;
bool golden_succeeded(const struct golden *golden);
/* NULL without memory. */
char *golden_to_json(const struct golden *golden);

#endif
