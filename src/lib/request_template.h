/* A program in a harness: --template and --set, or the same fields of a request. */
#ifndef LIB_REQUEST_TEMPLATE_H
#define LIB_REQUEST_TEMPLATE_H

#include "model/request.h"

/* Puts the program into the template of that name, one of its language's or a file; NULL: none was
 * asked for.  `sets` are NAME=VALUE. */
int request_template_put(sbr_request *req, const char *name, const char *const *sets, size_t n,
                         sbr_error *err) must_check;

#endif
