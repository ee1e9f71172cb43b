/* What a request names and does not hold yet: its language, its policy, its template. */
#ifndef JOB_REQUEST_COMPLETE_H
#define JOB_REQUEST_COMPLETE_H

#include "model/request.h"

/* Adds the language of its own file, makes the program of its template, and knows its names.
 * 0 or SBR_E_*. */
int request_complete(sbr_request *req, sbr_error *err) must_check;
/* `sets` are NAME=VALUE.  A name with a slash is a file. */
int request_complete_template(sbr_request *req, const char *name, const char *const *sets, size_t n,
                              sbr_error *err) must_check;

#endif
