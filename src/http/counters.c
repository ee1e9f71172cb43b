#include "http/counters.h"

#include <inttypes.h>
#include <string.h>

/* Upper bounds in microseconds, and as Prometheus writes them in seconds. */
static const struct {
    uint64_t us;
    const char *text;
} buckets[COUNTERS_N_BUCKETS] = {
    { 1000, "0.001" },  { 2500, "0.0025" }, { 5000, "0.005" },  { 10000, "0.01" },
    { 25000, "0.025" }, { 50000, "0.05" },  { 100000, "0.1" },  { 500000, "0.5" },
    { 1000000, "1" },   { 10000000, "10" }, { 60000000, "60" },
};

static void observe(struct counters_histogram *histogram, uint64_t us)
{
    size_t i = 0;

    while (i < COUNTERS_N_BUCKETS && us > buckets[i].us)
        i++;
    histogram->bucket[i]++;
    histogram->n++;
    histogram->sum_us += us;
}

static void count_row(struct counters *counters, const char *language, const char *outcome)
{
    struct counters_row *row;

    for (size_t i = 0; i < counters->n_rows; i++) {
        row = &counters->rows[i];
        if (!strcmp(row->language, language) && !strcmp(row->outcome, outcome)) {
            row->n++;
            return;
        }
    }
    if (counters->n_rows == COUNTERS_MAX_ROWS)
        return;
    counters->rows[counters->n_rows++] = (struct counters_row){ language, outcome, 1 };
}

/* Where its sandbox came from: docs/engine.md. */
static const char *const startup_names[COUNTERS_N_STARTUPS] = { "cold", "forked", "parked" };

static void count_startup(struct counters *counters, const char *startup)
{
    for (size_t i = 0; i < COUNTERS_N_STARTUPS; i++)
        counters->startups[i] += startup && !strcmp(startup, startup_names[i]);
}

void counters_add_run(struct counters *counters, const char *language, const sbr_result *result,
                      uint64_t total_us)
{
    count_row(counters, language ? language : "command",
              result ? result_verdict_name(result->verdict) : "error");
    observe(&counters->duration, total_us);
    if (!result)
        return;
    observe(&counters->startup, result->usage.startup_us);
    if (result->usage.startup_us) /* one that was cancelled before has not begun in any */
        count_startup(counters, result->startup);
    counters->out_bytes += result->out.total;
    counters->errout_bytes += result->err.total;
}

void counters_add_request(struct counters *counters, unsigned int status)
{
    size_t class = status / 100;

    counters->requests[class < ARRAY_LEN(counters->requests) ? class : 0]++;
}

static void print_histogram(const char *name, const char *help,
                            const struct counters_histogram *histogram, struct buf *out)
{
    uint64_t below = 0;

    buf_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (size_t i = 0; i < COUNTERS_N_BUCKETS; i++) {
        below += histogram->bucket[i];
        buf_printf(out, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name, buckets[i].text, below);
    }
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, histogram->n);
    buf_printf(out, "%s_sum %" PRIu64 ".%06" PRIu64 "\n", name, histogram->sum_us / 1000000,
               histogram->sum_us % 1000000);
    buf_printf(out, "%s_count %" PRIu64 "\n", name, histogram->n);
}

static void print_one(const char *name, const char *type, const char *help, uint64_t value,
                      struct buf *out)
{
    buf_printf(out,
               "# HELP sandbox_run_%s %s\n# TYPE sandbox_run_%s %s\nsandbox_run_%s %" PRIu64 "\n",
               name, help, name, type, name, value);
}

static void print_rows(const struct counters *counters, struct buf *out)
{
    buf_add_text(out, "# HELP sandbox_run_executions_total Runs that ended.\n"
                      "# TYPE sandbox_run_executions_total counter\n");
    for (size_t i = 0; i < counters->n_rows; i++)
        buf_printf(out,
                   "sandbox_run_executions_total{language=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
                   counters->rows[i].language, counters->rows[i].outcome, counters->rows[i].n);
    buf_add_text(out, "# HELP sandbox_run_startups_total Runs by where their sandbox came from.\n"
                      "# TYPE sandbox_run_startups_total counter\n");
    for (size_t i = 0; i < COUNTERS_N_STARTUPS; i++)
        buf_printf(out, "sandbox_run_startups_total{startup=\"%s\"} %" PRIu64 "\n",
                   startup_names[i], counters->startups[i]);
    buf_add_text(out, "# HELP sandbox_run_http_requests_total Requests that were answered.\n"
                      "# TYPE sandbox_run_http_requests_total counter\n");
    for (size_t i = 1; i < ARRAY_LEN(counters->requests); i++)
        buf_printf(out, "sandbox_run_http_requests_total{status=\"%zuxx\"} %" PRIu64 "\n", i,
                   counters->requests[i]);
}

void counters_print(const struct counters *counters, const struct counters_now *now,
                    struct buf *out)
{
    buf_printf(out,
               "# HELP sandbox_run_build_info The version.\n"
               "# TYPE sandbox_run_build_info gauge\nsandbox_run_build_info{version=\"%s\"} 1\n",
               result_version());
    print_rows(counters, out);
    print_histogram("sandbox_run_execution_duration_seconds",
                    "From the request to the result of a run.", &counters->duration, out);
    print_histogram("sandbox_run_sandbox_start_seconds",
                    "From the request to the program's first instruction.", &counters->startup,
                    out);
    print_one("active_sandboxes", "gauge", "Runs that have not ended.", now->active, out);
    print_one("http_connections", "gauge", "Connections that are open.", now->connections, out);
    print_one("kept_executions", "gauge", "Runs whose results are kept.", now->kept, out);
    print_one("http_refused_total", "counter", "Requests refused for lack of a right or of room.",
              counters->refused, out);
    print_one("client_cancelled_total", "counter", "Runs that ended because their client left.",
              counters->cancelled_by_client, out);
    print_one("stdout_bytes_total", "counter", "Bytes that programs wrote to stdout.",
              counters->out_bytes, out);
    print_one("stderr_bytes_total", "counter", "Bytes that programs wrote to stderr.",
              counters->errout_bytes, out);
    print_one("spans_sent_total", "counter", "Spans that the collector took.", now->spans_sent,
              out);
    print_one("spans_dropped_total", "counter", "Spans that no collector took.", now->spans_dropped,
              out);
    print_one("uptime_seconds", "gauge", "Since the gateway started.", now->uptime_us / 1000000,
              out);
}
