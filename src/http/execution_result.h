/* The result of a run as text: written by a thread where that takes long. */
#ifndef HTTP_EXECUTION_RESULT_H
#define HTTP_EXECUTION_RESULT_H

#include "http/execution.h"

/* Takes over the result and its text; the execution has its digest already. */
typedef void execution_result_finish(struct execution *e, sbr_result *result,
                                     struct response_text *text, const sbr_error *err);

/* NULL for a result: the error of the execution. */
struct response_text *execution_result_text(const struct execution *e, const sbr_result *result);
/* What the execution's dialect makes of the result; NULL: nothing. */
json_t *execution_result_digest(const struct execution *e, const struct response_text *text,
                                const sbr_result *result);
/* True: `finish` is called later, from the loop. */
bool execution_result_is_later(struct execution *e, sbr_result *result,
                               execution_result_finish *finish);

#endif
