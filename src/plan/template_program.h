/* The program of a request in a template. */
#ifndef PLAN_TEMPLATE_PROGRAM_H
#define PLAN_TEMPLATE_PROGRAM_H

#include "model/request.h"

/* `name` is for messages; without `text` it is a template that ships with the request's language.
 * `values` are NAME=VALUE.  The program was set before. */
struct template_use {
    const char *name;
    const char *text;
    size_t len;
    const char *const *values;
    size_t n_values;
};

/* Replaces the program by the template with the program in it. */
int template_program(sbr_request *req, const struct template_use *use, sbr_error *err) must_check;

#endif
