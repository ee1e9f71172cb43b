/* A dialect: the paths and forms of another service, as a thin map onto our request and result.
 *
 * It is off unless the operator names it.  Its paths stand at the root and below /NAME/.  The same
 * guard, tokens and ceilings hold; only the form of a refusal is the dialect's own. */
#ifndef HTTP_DIALECT_H
#define HTTP_DIALECT_H

#include <jansson.h>

#include "http/problem.h"
#include "http/route.h"

struct execution;

struct dialect {
    const char *name;
    const struct route *routes;       /* a row without a method ends it */
    const char *const *token_headers; /* besides Authorization; NULL ends it */
    /* Replies; problem_reply calls it for exchanges of this dialect. */
    void (*refuse)(struct exchange *x, const struct problem *problem);
    /* A run of this dialect that was on record when the gateway started, with its note: it is over
     * (execution_is_over), or it is still to end.  False: the note is wrong, or what it asks for is
     * not allowed any more.  NULL: none is ever on record. */
    bool (*restore)(struct execution *e, const json_t *note);
    /* Each second, on the loop; may be NULL. */
    void (*tick)(struct server *server, uint64_t now_us);
    /* When the gateway ends; may be NULL. */
    void (*close)(struct server *server);
};

/* NULL ends it; src/dialect/ has it, so that this folder includes none of them. */
extern const struct dialect *const dialect_table[];

#endif
