/* Routes about the gateway and this machine. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/offload.h"
#include "http/route.h"
#include "http/server.h"
#include "lib/language_status.h"

void meta_health(struct exchange *x)
{
    exchange_reply(x, HTTP_OK, JSON_TYPE, strdup("{\"status\":\"ok\"}"));
}

static int check_runtime(struct offload *o, sbr_error *err)
{
    struct jsonw j;
    int r = sbr_runtime_check(o->server->rt, err);

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "status", r == 0 ? "ready" : "not_ready");
    if (r < 0)
        jsonw_text(&j, "reason", err->message);
    jsonw_close(&j, '}');
    o->body = jsonw_take(&j);
    o->status = r == 0 ? HTTP_OK : HTTP_SERVICE_UNAVAILABLE;
    return 0;
}

void meta_ready(struct exchange *x)
{
    struct offload o = { .work = check_runtime };

    o.held = holdings_take(x, &(struct need){ .runs = 1 }); /* it starts a sandbox */
    if (o.held)
        offload_start(x, &o);
}

void meta_version(struct exchange *x)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "name", "sandbox-run");
    jsonw_text(&j, "version", result_version());
    jsonw_text(&j, "api", "v1");
    jsonw_close(&j, '}');
    exchange_reply(x, HTTP_OK, JSON_TYPE, jsonw_take(&j));
}

static uint64_t length_of(const struct link *list)
{
    uint64_t n = 0;

    list_each(at, (struct link *)list)
        n++;
    return n;
}

/* What a tenant holds and has asked for, and nothing of the others. */
static void print_own(struct exchange *x)
{
    struct ledger *ledger = &x->server->holdings.ledger;
    const struct need used = ledger_used(ledger, x->tenant.name);
    const struct ledger_totals totals = ledger_totals(ledger, x->tenant.name);
    const struct {
        const char *name, *type;
        uint64_t value;
    } rows[] = {
        { "sandbox_run_tenant_running", "gauge", used.runs },
        { "sandbox_run_tenant_sessions", "gauge", used.sessions },
        { "sandbox_run_tenant_memory_bytes", "gauge", used.memory },
        { "sandbox_run_tenant_starts_total", "counter", totals.starts },
        { "sandbox_run_tenant_refused_total", "counter", totals.refused },
    };
    struct buf out;

    buf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        buf_printf(&out, "# TYPE %s %s\n%s %llu\n", rows[i].name, rows[i].type, rows[i].name,
                   (unsigned long long)rows[i].value);
    exchange_reply(x, HTTP_OK, x->route->type, buf_take(&out, NULL));
}

static void print_all(struct exchange *x)
{
    struct counters_now now = { .active = ledger_used(&x->server->holdings.ledger, NULL).runs,
                                .connections = length_of(&x->server->visitors),
                                .kept = length_of(&x->server->executions),
                                .spans_sent = x->server->spans.sent,
                                .spans_dropped = x->server->spans.dropped,
                                .uptime_us = clock_now_us() - x->server->started_us };
    struct buf out;

    buf_init(&out, (size_t)1 << 20);
    counters_print(&x->server->counters, &now, &out);
    exchange_reply(x, HTTP_OK, x->route->type, buf_take(&out, NULL));
}

void meta_metrics(struct exchange *x)
{
    if (x->tenant.scopes & SCOPE_METRICS)
        print_all(x);
    else
        print_own(x);
}

void meta_openapi(struct exchange *x)
{
    exchange_reply(x, HTTP_OK, JSON_TYPE, openapi_text());
}

/* The page has a style of its own and nothing else. */
void meta_reference(struct exchange *x)
{
    char *page = reference_text();
    struct response *response = page ? response_of_bytes(page, strlen(page)) : NULL;

    if (!response) {
        exchange_reply(x, HTTP_OK, JSON_TYPE, NULL);
        return;
    }
    response_add_header(response, HTTP_HEADER_CONTENT_TYPE, x->route->type);
    response_add_header(response, "Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; "
                        "frame-ancestors 'none'");
    exchange_reply_with(x, HTTP_OK, response);
}

/* Places on the host are nothing for a client. */
static void put_language(struct jsonw *j, const struct language_report *report)
{
    jsonw_open(j, NULL, '{');
    language_report_put_json(j, report);
    jsonw_open(j, "versions", '[');
    for (size_t i = 0; i < report->n_toolchains; i++) {
        const char *version = language_version_text(&report->toolchains[i]);

        if (version[0])
            jsonw_text(j, NULL, version);
    }
    jsonw_close(j, ']');
    jsonw_close(j, '}');
}

static int list_languages(struct offload *o, sbr_error *err)
{
    struct language_inspector inspector = { .selftest = false };
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "languages", '[');
    for (size_t i = 0; language_at(i); i++) {
        struct language_report report;

        if (!grant_has_language(&o->tenant, language_at(i)->name))
            continue;
        if (language_inspect(&inspector, language_at(i), NULL, &report, err) < 0) {
            free(jsonw_take(&j));
            language_inspector_done(&inspector);
            return err->code;
        }
        put_language(&j, &report);
        language_report_done(&report);
    }
    language_inspector_done(&inspector);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    o->body = jsonw_take(&j);
    return 0;
}

void meta_languages(struct exchange *x)
{
    offload_start(x, &(struct offload){ .work = list_languages });
}
