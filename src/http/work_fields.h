/* Fields of the bodies of work on code that are no part of a request. */
#ifndef HTTP_WORK_FIELDS_H
#define HTTP_WORK_FIELDS_H

#include <jansson.h>

#include "base/err.h"
#include "sandboxrun.h"

#define WORK_FIELDS_MOST 8 /* of one route */

/* What is wrong with the value, in one sentence; NULL: nothing is.  `value` NULL: it is missing. */
const char *work_fields_fault(const char *field, const json_t *value);

unsigned int work_fields_count(const json_t *own, const char *field, unsigned int otherwise);
/* NULL-terminated; the texts are borrowed, the caller frees the array; NULL without memory. */
const char **work_fields_texts(const json_t *own, const char *field);
/* The number as text in `buf`; NULL: there is none. */
const char *work_fields_decimal(const json_t *own, const char *field, char *buf, size_t size);

/* The inputs of a comparison: names are borrowed, data is not. */
struct work_inputs {
    sbr_input *items;
    size_t n;
};
int work_fields_inputs(const json_t *own, struct work_inputs *ret, sbr_error *err) must_check;
void work_fields_inputs_done(struct work_inputs *inputs);

#endif
