/* A client with a WebSocket to a run: events out, stdin and the terminal's size in (docs/http.md).
 */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include "http/execution.h"

#define WEBSOCKET_PROTOCOL "sandbox-run"

/* Replies to `x` with the upgrade, or with the problem. */
void websocket_open(struct execution *e, struct exchange *x);
/* There is something new in the log, or room for stdin. */
void websocket_wake(struct execution *e);
/* The execution goes, or the gateway ends. */
void websocket_drop_all(struct execution *e);

#endif
