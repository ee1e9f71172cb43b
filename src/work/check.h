/* Compares what a program printed with what was expected, as judges do. */
#ifndef WORK_CHECK_H
#define WORK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum check_kind {
    CHECK_TOKENS, /* words in order; blanks and line ends do not count */
    CHECK_EXACT,  /* every byte */
    CHECK_FLOATS  /* words; numbers may differ by the tolerance, absolute or relative */
};

struct check {
    enum check_kind kind;
    double tolerance;
    const char *expected, *got; /* what the difference calls the two; NULL: these words */
};

#define CHECK_TOLERANCE 1e-6
#define CHECK_DIFFERENCE_SIZE 240

/* The kind by its name; -1: there is none. */
int check_kind_from_name(const char *name);
/* A decimal number that is not negative, as in 0.001 or 1e-6. */
int check_parse_tolerance(const char *text, double *ret, sbr_error *err) must_check;

struct check_text {
    const char *data;
    size_t len;
};

/* False: `difference` says where the first one is, in one line without control characters. */
bool check_compare(const struct check *check, struct check_text expected, struct check_text got,
                   char difference[CHECK_DIFFERENCE_SIZE]);

#endif
