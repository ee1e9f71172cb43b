/* Results of many runs as lines of JSON: to a file that a later batch goes on with, or in order.
 *
 * Each line begins with the number of its item and a digest of its request, so that a batch that
 * was interrupted knows what it need not run again.  A line is written by one call; what a kill
 * leaves of a line is removed when the file is opened again. */
#ifndef WORK_RESULTS_H
#define WORK_RESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/save.h"

#define RESULTS_DIGEST_SIZE 17 /* 16 digits */

struct results_item {
    char digest[RESULTS_DIGEST_SIZE]; /* empty: there is no result yet */
    char *waiting;                    /* a line whose turn has not come; NULL: none */
};

struct results {
    FILE *file; /* NULL: stdout */
    int fd;     /* of the file */
    bool in_order;
    struct results_item *items; /* item 1 is the first */
    size_t n;
    size_t written; /* in order: so many items are out */
};

/* `path` NULL: stdout.  Takes what the file has; SBR_E_INVALID: it has something else.  No link of
 * `trees` is followed. */
int results_open(const char *path, const struct save_trees *trees, bool in_order,
                 struct results *ret, sbr_error *err) must_check;
void results_done(struct results *r);

/* The first 16 digits of the request's SHA-256. */
void results_digest(const void *request, size_t len, char ret[RESULTS_DIGEST_SIZE]);
/* 1: the item has its result; SBR_E_INVALID: it has that of another request. */
int results_has(const struct results *r, uint64_t item, const char *digest, sbr_error *err)
    must_check;
/* `json` is one object without a newline; `name` may be NULL. */
int results_put(struct results *r, uint64_t item, const char *digest, const char *name,
                const char *json, sbr_error *err);
/* The same for a line that is ready, with its newline; it is freed.  NULL: there is no memory. */
int results_put_line(struct results *r, uint64_t item, char *line, sbr_error *err);
/* Writes what waits for its turn, because items before it have no result. */
int results_flush(struct results *r, sbr_error *err);

#endif
