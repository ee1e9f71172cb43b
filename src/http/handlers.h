/* What the rows of the route table do. */
#ifndef HTTP_HANDLERS_H
#define HTTP_HANDLERS_H

#include "http/exchange.h"

void meta_health(struct exchange *x);
void meta_ready(struct exchange *x);
void meta_version(struct exchange *x);
void meta_metrics(struct exchange *x);
void meta_openapi(struct exchange *x);
void meta_languages(struct exchange *x);

void executions_create(struct exchange *x);
void executions_list(struct exchange *x);
void executions_get(struct exchange *x);
void executions_cancel(struct exchange *x);
void executions_events(struct exchange *x);
void executions_stdin(struct exchange *x);

#endif
