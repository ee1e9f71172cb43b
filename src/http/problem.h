/* Why there is no answer: RFC 9457 objects with a code, the cause and what to do. */
#ifndef HTTP_PROBLEM_H
#define HTTP_PROBLEM_H

#include "http/exchange.h"

#define PROBLEM_TYPE "application/problem+json"

struct problem {
    unsigned int status;
    const char *code;      /* a short stable word; NULL: by the status */
    const char *detail;    /* what is wrong: one sentence */
    const char *remedy;    /* what to do; NULL: the detail says it */
    const char *field;     /* of the request; NULL: none */
    unsigned int retry_s;  /* 0: not */
    unsigned int position; /* in the queue; 0: not known */
};

void problem_reply(struct exchange *x, const struct problem *problem);
/* An error of the library, by one table. */
void problem_reply_error(struct exchange *x, const sbr_error *err);
/* The status of that table. */
unsigned int problem_status_of(int code);

#endif
