/* The code that the audit has kept, for people; and whether it is what the chain has on record. */
#ifndef CLI_AUDIT_VIEW_H
#define CLI_AUDIT_VIEW_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

/* *ret is the program with this digest as JSON, which the caller owns; NULL: there is none, or
 * what is there has another digest. */
int audit_view_find(const char *digest, json_t **ret, sbr_error *err) must_check;

struct audit_view_counts {
    uint64_t kept, damaged; /* programs */
};
int audit_view_count(struct audit_view_counts *ret, sbr_error *err) must_check;

#endif
