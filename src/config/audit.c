#include "config/audit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/config.h"

#define SHOWN_MAX 200 /* bytes of a text in a line; it may become six times as long */
#define SECRETS_SHOWN 16

static void put_text(struct jsonw *j, const char *key, const char *text)
{
    char shown[SHOWN_MAX];

    if (!text)
        return;
    text_copy_visibly(shown, sizeof(shown), text, strlen(text));
    jsonw_text(j, key, shown);
}

static const char *name_of(const sbr_request *req)
{
    if (req->program)
        return req->program;
    if (req->n_files)
        return req->files[0].path;
    return !req->language && req->args.n ? req->args.items[0] : NULL;
}

/* By name: who used which.  A line has room for these. */
static void put_secrets(struct jsonw *j, const struct secrets *secrets)
{
    size_t shown = secrets->n < SECRETS_SHOWN ? secrets->n : SECRETS_SHOWN;

    if (!secrets->n)
        return;
    jsonw_open(j, "secrets", '[');
    for (size_t i = 0; i < shown; i++)
        jsonw_text(j, NULL, secrets->at[i].name);
    jsonw_close(j, ']');
    if (shown < secrets->n)
        jsonw_number(j, "more_secrets", secrets->n - shown);
}

/* No argument and no variable: they may be secrets. */
static void put_request(struct jsonw *j, const sbr_request *req)
{
    jsonw_open(j, "request", '{');
    put_text(j, "language", req->language);
    put_text(j, "program", name_of(req));
    jsonw_number(j, "args", req->args.n);
    jsonw_number(j, "dependencies", req->deps.n);
    jsonw_number(j, "volumes", req->n_volumes);
    put_text(j, "project", req->project);
    put_text(j, "workspace", req->workspace);
    put_text(j, "policy", req->policy ? req->policy : "default");
    jsonw_text(j, "network", network_mode_name(req->network.mode));
    jsonw_number(j, "hosts", req->network.n_rules);
    put_secrets(j, &req->secrets);
    jsonw_close(j, '}');
}

static void put_result(struct jsonw *j, const sbr_result *result)
{
    const struct sbr_report *report = &result->report;

    jsonw_text(j, "outcome", result_verdict_name(result->verdict));
    if (report->exit_code >= 0)
        jsonw_number(j, "exit_code", (uint64_t)report->exit_code);
    if (report->signal)
        jsonw_number(j, "signal", (uint64_t)report->signal);
    jsonw_number(j, "wall_us", report->wall_us);
    jsonw_number(j, "cpu_us", report->cpu_us);
    jsonw_number(j, "peak_memory_bytes", report->peak_memory_bytes);
    jsonw_number(j, "total_us", result->total_us);
    jsonw_number(j, "denials", result->denials.n);
    jsonw_text(j, "isolation", request_tier_name(result->isolation.tier));
    if (result->explanation[0])
        put_text(j, "explanation", result->explanation);
}

/* Without the program. */
static void put_entry(struct jsonw *j, const sbr_request *req, const sbr_result *result,
                      const sbr_error *failure)
{
    char time[RESULT_TIME_SIZE], id[ENCODING_ID_SIZE] = "";

    result_format_time(result ? result->started_at_us : clock_read_us(CLOCK_REALTIME), time);
    if (!result)
        (void)encoding_random_id(id);
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "time", time);
    jsonw_text(j, "id", result ? result->id : id);
    jsonw_number(j, "uid", getuid());
    if (req->caller[0])
        put_text(j, "caller", req->caller);
    put_request(j, req);
    if (result) {
        put_result(j, result);
    } else {
        jsonw_text(j, "outcome", result_error_name(failure->code));
        put_text(j, "error", failure->message);
    }
}

static uint64_t bytes_kept(const sbr_request *req)
{
    return req->audit_bytes ? req->audit_bytes : AUDIT_KEEP_ALL;
}

/* Takes the writer's text over. */
static int append(enum audit_record record, struct jsonw *j, const char *code, uint64_t keep,
                  sbr_error *err)
{
    scoped_free char *body = jsonw_take(j);

    return !body ? err_set_oom(err, "audit") : audit_chain_append(record, body, code, keep, err);
}

/* The digest, and the code where it is kept; the caller frees the line for it. */
static char *put_program(struct jsonw *j, const struct audit_program *program, bool keeps)
{
    char digest[SHA256_HEX_SIZE], *line;

    audit_program_digest(program, digest);
    jsonw_text(j, "program_sha256", digest);
    line = keeps ? audit_program_line(program, digest) : NULL;
    if (keeps)
        jsonw_bool(j, "code_kept", line != NULL);
    return line;
}

int audit_append(const sbr_request *req, const sbr_result *result, const sbr_error *failure,
                 sbr_error *err)
{
    struct audit_program program;
    scoped_free char *code = NULL;
    struct jsonw j;

    jsonw_init(&j, false);
    put_entry(&j, req, result, failure);
    audit_program_of(req, &program);
    code = put_program(&j, &program, req->audit_code);
    audit_program_done(&program);
    return append(AUDIT_RUNS, &j, code, bytes_kept(req), err);
}

static void put_note(struct jsonw *j, const char *kind, const struct audit_field *fields, size_t n)
{
    char time[RESULT_TIME_SIZE], id[ENCODING_ID_SIZE] = "";

    result_format_time(clock_read_us(CLOCK_REALTIME), time);
    (void)encoding_random_id(id);
    jsonw_init(j, false);
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "time", time);
    jsonw_text(j, "id", id);
    jsonw_number(j, "uid", getuid());
    jsonw_text(j, "kind", kind);
    jsonw_text(j, "outcome", kind);
    for (size_t i = 0; i < n; i++)
        put_text(j, fields[i].name, fields[i].value);
}

int audit_note(const char *kind, const struct audit_field *fields, size_t n, sbr_error *err)
{
    struct jsonw j;

    put_note(&j, kind, fields, n);
    return append(AUDIT_RUNS, &j, NULL, AUDIT_KEEP_ALL, err);
}

/* The words are untrusted: they are cut so that the line holds all rows, whatever is in them. */
static void put_refusal(struct jsonw *j, const struct audit_refusal *row)
{
    jsonw_open(j, NULL, '{');
    jsonw_number(j, "status", row->status);
    put_text(j, "reason", row->reason);
    jsonw_number(j, "count", row->count);
    put_text(j, "caller", row->caller[0] ? row->caller : NULL);
    put_text(j, "method", row->method);
    put_text(j, "path", row->path);
    jsonw_close(j, '}');
}

int audit_note_refusals(const struct audit_refusal *rows, size_t n, uint64_t others,
                        uint64_t from_us, uint64_t keep, sbr_error *err)
{
    char from[RESULT_TIME_SIZE];
    struct jsonw j;

    put_note(&j, "refused", NULL, 0);
    result_format_time(from_us, from);
    jsonw_text(&j, "from", from);
    jsonw_open(&j, "reasons", '[');
    for (size_t i = 0; i < n; i++)
        put_refusal(&j, &rows[i]);
    jsonw_close(&j, ']');
    if (others)
        jsonw_number(&j, "others", others);
    return append(AUDIT_REFUSED, &j, NULL, keep, err);
}

int audit_note_cell(const struct audit_field *fields, size_t n, const struct audit_program *cell,
                    const sbr_request *req, sbr_error *err)
{
    scoped_free char *code = NULL;
    struct jsonw j;

    put_note(&j, "cell", fields, n);
    code = put_program(&j, cell, req->audit_code);
    return append(AUDIT_RUNS, &j, code, bytes_kept(req), err);
}

void audit_as(sbr_request *req, const sbr_request *other)
{
    req->audit = other->audit;
    req->audit_code = other->audit_code;
    req->audit_bytes = other->audit_bytes;
}

int audit_note_if_wanted(const char *kind, const struct audit_field *fields, size_t n,
                         sbr_error *err)
{
    struct config config;
    int r = config_load(NULL, &config, err);

    if (r < 0)
        return r;
    if (config.audit)
        r = audit_note(kind, fields, n, err);
    config_done(&config);
    return r;
}
