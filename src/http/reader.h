/* A client that reads the events of an execution as they come: SSE, or lines of JSON. */
#ifndef HTTP_READER_H
#define HTTP_READER_H

#include "http/execution.h"

/* Replies to `x` with the events from number `first` on. */
void reader_open(struct execution *e, struct exchange *x, const char *type, uint64_t first);
/* There is something new for the readers of this execution. */
void reader_wake(struct execution *e);
/* The execution goes; its readers end. */
void reader_drop_all(struct execution *e);
/* Now and then: readers of SSE that wait get a comment, so that they know the connection lives. */
void reader_tick(struct server *server, uint64_t now_us);

#endif
