/* Spans of OpenTelemetry: one for each run that ended, sent to a collector as OTLP/HTTP in JSON.
 *
 * They wait in a bounded buffer and leave once a second, in a thread.  A collector that does not
 * answer costs spans, never a run. */
#ifndef HTTP_SPANS_H
#define HTTP_SPANS_H

#include "base/buf.h"
#include "config/config.h"

struct execution;
struct server;

#define SPAN_TRACE_SIZE 33
#define SPAN_ID_SIZE 17

/* What the header `traceparent` says; empty: there was none, or a wrong one. */
struct span_parent {
    char trace[SPAN_TRACE_SIZE];
    char span[SPAN_ID_SIZE];
};

struct spans {
    char host[256], port[8], path[256]; /* of the collector; host empty: there is none */
    struct buf rows;
    uint64_t n_waiting, sent, dropped;
    bool sending; /* a thread has some */
};

/* The collector is `http.collector` of the configuration, or OTEL_EXPORTER_OTLP_ENDPOINT. */
int spans_open(const struct config *config, struct spans *ret, sbr_error *err) must_check;
void spans_done(struct spans *spans);
/* `text` may be NULL. */
void spans_read_parent(const char *text, struct span_parent *ret);
void spans_add(struct spans *spans, const struct execution *e, int64_t exit_code);
/* Sends what waits. */
void spans_tick(struct server *server);

#endif
