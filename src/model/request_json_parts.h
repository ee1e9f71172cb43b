/* Parts of a request in JSON: texts, and its files. */
#ifndef MODEL_REQUEST_JSON_PARTS_H
#define MODEL_REQUEST_JSON_PARTS_H

#include <jansson.h>

#include "model/request.h"

/* The error of a field that is not what it has to be, such as "a string". */
int request_json_parts_wrong(const char *field, const char *wanted, sbr_error *err);
/* Text without NUL: it becomes an argument, a name or a path.  NULL: it is none. */
const char *request_json_parts_text(const json_t *value);
/* Adds the files of an array. */
int request_json_parts_files(sbr_request *req, const json_t *value, sbr_error *err);

#endif
