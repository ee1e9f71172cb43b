/* Why something was not admitted: what kind of no it is, which bound says it, and one sentence. */
#ifndef ADMIT_REFUSAL_H
#define ADMIT_REFUSAL_H

#include "base/err.h"
#include "model/bounds.h"

enum refusal_kind {
    REFUSED_BY_ERROR,   /* the code of `err` says what it is */
    REFUSED_UNREADABLE, /* it is no request at all */
    REFUSED_WRONG,      /* nobody may have it */
    REFUSED_FORBIDDEN,  /* this caller may not have it */
    REFUSED_FULL        /* not now */
};

struct refusal {
    enum refusal_kind kind;
    enum bound bound;
    char field[64];        /* of the request; empty: none */
    unsigned int retry_s;  /* with REFUSED_FULL */
    unsigned int position; /* in the line; 0: unknown */
    sbr_error err;
};

/* Fills it and returns -1. */
int refusal_set(struct refusal *ret, enum refusal_kind kind, enum bound bound, const char *field,
                const char *fmt, ...) format_like_printf(5, 6);

#endif
