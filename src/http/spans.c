#include "http/spans.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "http/execution.h"
#include "http/offload.h"
#include "http/server.h"

#define ROWS_MAX ((size_t)1 << 20)
#define PATIENCE_S 5
#define SCHEME "http://"
#define DEFAULT_PORT "4318"
#define KIND_SERVER 2
#define STATUS_OK 1
#define STATUS_ERROR 2

/* http://HOST[:PORT][/PATH]; the path of traces is added. */
static int read_address(const char *text, struct spans *ret, sbr_error *err)
{
    const char *host = text + strlen(SCHEME), *port, *path;
    size_t len;

    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0)
        return err_set(err, SBR_E_INVALID, "config",
                       "http.collector '%.100s' is no address such as http://127.0.0.1:4318", text);
    len = strcspn(host, "/");
    path = host + len;
    port = memchr(host, ':', len);
    if (snprintf(ret->path, sizeof(ret->path), "%.*s/v1/traces", (int)strcspn(path, "?# \r\n"),
                 path) >= (int)sizeof(ret->path) ||
        len >= sizeof(ret->host) || host[0] == ':' || !len)
        return err_set(err, SBR_E_INVALID, "config", "http.collector '%.100s' has no host", text);
    snprintf(ret->port, sizeof(ret->port), "%.*s",
             port ? (int)(host + len - port - 1) : (int)strlen(DEFAULT_PORT),
             port ? port + 1 : DEFAULT_PORT);
    snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(port ? port - host : (long)len), host);
    return 0;
}

int spans_open(const struct config *config, struct spans *ret, sbr_error *err)
{
    const char *address = config->user ? config->user->http.collector : NULL;

    *ret = (struct spans){ .sent = 0 };
    buf_init(&ret->rows, ROWS_MAX);
    if (!address)
        address = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    return address && *address ? read_address(address, ret, err) : 0;
}

void spans_done(struct spans *spans)
{
    buf_done(&spans->rows);
}

static bool is_zero(const char *hex)
{
    return hex[strspn(hex, "0")] == '\0';
}

/* 00-TRACE-SPAN-FLAGS */
void spans_read_parent(const char *text, struct span_parent *ret)
{
    static const size_t trace_at = 3, span_at = 36, whole = 55;

    *ret = (struct span_parent){ .trace = "" };
    if (!text || strlen(text) < whole || !strncmp(text, "ff", 2) || text[2] != '-' ||
        text[span_at - 1] != '-' || text[span_at + SPAN_ID_SIZE - 1] != '-')
        return;
    snprintf(ret->trace, sizeof(ret->trace), "%.32s", text + trace_at);
    snprintf(ret->span, sizeof(ret->span), "%.16s", text + span_at);
    if (!encoding_is_hex(ret->trace, SPAN_TRACE_SIZE - 1) || is_zero(ret->trace) ||
        !encoding_is_hex(ret->span, SPAN_ID_SIZE - 1) || is_zero(ret->span))
        *ret = (struct span_parent){ .trace = "" };
}

static void put_attribute(struct jsonw *j, const char *key, const char *text)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "key", key);
    jsonw_open(j, "value", '{');
    jsonw_text(j, "stringValue", text);
    jsonw_close(j, '}');
    jsonw_close(j, '}');
}

/* Nanoseconds are texts in OTLP's JSON: they do not fit a number of JavaScript. */
static void put_time(struct jsonw *j, const char *key, uint64_t us)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu000", (unsigned long long)us);
    jsonw_text(j, key, text);
}

static char *describe(const struct execution *e, int64_t exit_code)
{
    char trace[ENCODING_ID_SIZE] = "", span[ENCODING_ID_SIZE] = "", code[24];
    struct jsonw j;

    (void)encoding_random_id(trace);
    (void)encoding_random_id(span);
    span[SPAN_ID_SIZE - 1] = '\0';
    snprintf(code, sizeof(code), "%lld", (long long)exit_code);
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "traceId", e->trace.trace[0] ? e->trace.trace : trace);
    jsonw_text(&j, "spanId", span);
    if (e->trace.span[0])
        jsonw_text(&j, "parentSpanId", e->trace.span);
    jsonw_text(&j, "name", "execute_code");
    jsonw_number(&j, "kind", KIND_SERVER);
    put_time(&j, "startTimeUnixNano", e->created_us);
    put_time(&j, "endTimeUnixNano", e->created_us + (e->ended_us - e->started_us));
    jsonw_open(&j, "attributes", '[');
    put_attribute(&j, "sandbox_run.id", e->id);
    put_attribute(&j, "sandbox_run.language", e->language[0] ? e->language : "command");
    put_attribute(&j, "sandbox_run.outcome", e->outcome);
    put_attribute(&j, "sandbox_run.tenant", e->tenant);
    if (exit_code >= 0)
        put_attribute(&j, "process.exit.code", code);
    jsonw_close(&j, ']');
    jsonw_open(&j, "status", '{');
    jsonw_number(&j, "code", e->is_error ? STATUS_ERROR : STATUS_OK);
    jsonw_close(&j, '}');
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

void spans_add(struct spans *spans, const struct execution *e, int64_t exit_code)
{
    scoped_free char *text = NULL;

    if (!spans->host[0])
        return;
    text = describe(e, exit_code);
    if (!text || spans->rows.len + strlen(text) + 2 > ROWS_MAX) {
        spans->dropped++;
        return;
    }
    buf_printf(&spans->rows, "%s%s", spans->rows.len ? "," : "", text);
    spans->n_waiting++;
}

static int dial(const struct spans *spans)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct addrinfo *found = NULL;
    int fd = -1;

    if (getaddrinfo(spans->host, spans->port, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (connect(fd, at->ai_addr, at->ai_addrlen) < 0)
            scope_close_fd(&fd);
    }
    freeaddrinfo(found);
    return fd;
}

/* In the thread. */
static int post(struct offload *o, sbr_error *err)
{
    const struct spans *spans = &o->server->spans;
    scoped_fd int fd = dial(spans);
    char answer[16] = "";
    struct buf out;
    bool taken;

    (void)err;
    buf_init(&out, ROWS_MAX + 4096);
    buf_printf(&out,
               "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
               spans->path, spans->host, spans->port, strlen(o->words[0]), o->words[0]);
    taken = fd >= 0 && !out.failed && fd_write_all(fd, out.data, out.len) == 0 &&
            recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL) > 0 &&
            !strncmp(answer, "HTTP/1.", 7) && answer[9] == '2';
    buf_done(&out);
    return taken ? 0 : SBR_E_SYSTEM;
}

static void posted(struct offload *o, const sbr_error *err)
{
    struct spans *spans = &o->server->spans;

    *(err ? &spans->dropped : &spans->sent) += o->number;
    spans->sending = false;
}

static char *wrap(const char *rows)
{
    const char *name = getenv("OTEL_SERVICE_NAME");
    struct jsonw j;
    scoped_free char *service = NULL;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '[');
    put_attribute(&j, "service.name", name ? name : "sandbox-run");
    jsonw_close(&j, ']');
    service = jsonw_take(&j);
    return service ? text_format("{\"resourceSpans\":[{\"resource\":{\"attributes\":%s},"
                                 "\"scopeSpans\":[{\"scope\":{\"name\":\"sandbox-run\"},"
                                 "\"spans\":[%s]}]}]}",
                                 service, rows)
                   : NULL;
}

void spans_tick(struct server *server)
{
    struct spans *spans = &server->spans;
    struct offload o = { .work = post, .done = posted, .number = spans->n_waiting };

    if (!spans->n_waiting || spans->sending)
        return;
    o.words[0] = wrap(spans->rows.data);
    buf_drop(&spans->rows, spans->rows.len);
    spans->n_waiting = 0;
    spans->sending = o.words[0] && offload_start_own(server, &o) == 0;
    if (!spans->sending) {
        spans->dropped += o.number;
        free(o.words[0]);
    }
}
