/* audit: the runs that the configuration wants on record. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "config/audit.h"

struct audit_options {
    const char *since, *last;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "since", "TIME", "only runs that began so long ago at most, as in 2h, or at a date",
      OPTION_OWN(struct audit_options, since) },
    { 0, "last",  "N",    "only the last N of them", OPTION_OWN(struct audit_options, last) },
    { 0 },
};
/* clang-format on */

/* The lines that were chosen, in order. */
struct lines {
    char **at;
    size_t n, damaged;
    char since[RESULT_TIME_SIZE]; /* times of this form sort as text */
    bool failed;
};

static void choose(void *context, const char *text, size_t len)
{
    struct lines *lines = context;
    json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    const char *time = json_string_value(json_object_get(line, "time"));
    char **grown;

    if (!time) {
        lines->damaged++;
    } else if (strcmp(time, lines->since) >= 0) {
        grown = realloc(lines->at, (lines->n + 1) * sizeof(*grown));
        lines->failed |= !grown;
        lines->at = grown ? grown : lines->at;
        if (grown && !(lines->at[lines->n++] = strndup(text, len)))
            lines->failed = true;
    }
    json_decref(line);
}

/* "2h" ago, or what is a beginning of "2026-02-03T04:05:06". */
static int parse_since(const char *text, char since[RESULT_TIME_SIZE], sbr_error *err)
{
    uint64_t ms;

    if (strlen(text) >= 4 && strspn(text, "0123456789") >= 4 && strchr(text, '-') &&
        strlen(text) < RESULT_TIME_SIZE) {
        snprintf(since, RESULT_TIME_SIZE, "%s", text);
        return 0;
    }
    if (text_parse_duration(text, &ms) != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "audit",
                       "--since '%.40s' is no time; say 90m, 48h or 2026-02-03T04:05", text);
    result_format_time(clock_read_us(CLOCK_REALTIME) - ms * 1000, since);
    return 0;
}

static const char *text_at(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));

    return text ? text : "";
}

static void print_line(const char *text)
{
    json_t *line = json_loads(text, 0, NULL);
    const json_t *request = json_object_get(line, "request"), *code;
    char shown[16] = "";

    code = json_object_get(line, "exit_code");
    if (code)
        snprintf(shown, sizeof(shown), " %d", (int)json_integer_value(code));
    printf("%.19sZ  %.12s  %s%-*s  %8.3f s  %s ", text_at(line, "time"), text_at(line, "id"),
           text_at(line, "outcome"), 14 - (int)strlen(text_at(line, "outcome")), shown,
           (double)json_integer_value(json_object_get(line, "total_us")) / 1e6,
           *text_at(request, "language") ? text_at(request, "language") : "command");
    present_name(stdout, text_at(request, "program"));
    printf("\n");
    json_decref(line);
}

/* The lines are JSON already. */
static void print_json(const struct lines *lines, size_t first)
{
    printf("{\"runs\":[");
    for (size_t i = first; i < lines->n; i++)
        printf("%s%s", i > first ? ",\n" : "\n", lines->at[i]);
    printf("],\"damaged\":%zu}\n", lines->damaged);
}

static int show(const struct options *o, struct lines *lines, sbr_error *err)
{
    const struct audit_options *own = o->own;
    uint64_t last = UINT64_MAX;
    size_t first;

    if (o->n_positional)
        return err_set(err, SBR_E_INVALID, "audit", "'%.60s' is one word too many",
                       o->positional[0]);
    if (own->last && text_parse_count(own->last, &last) != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "audit", "--last '%.40s' is no number", own->last);
    if ((own->since && parse_since(own->since, lines->since, err) < 0) ||
        audit_read(choose, lines, err) < 0)
        return err->code;
    if (lines->failed)
        return err_set_oom(err, "audit");
    first = lines->n > last ? lines->n - (size_t)last : 0;
    for (size_t i = first; !o->json && i < lines->n; i++)
        print_line(lines->at[i]);
    if (o->json)
        print_json(lines, first);
    else if (lines->damaged)
        fprintf(stderr, "sandbox-run: %zu lines of the audit are damaged\n", lines->damaged);
    return 0;
}

static int audit_run(struct options *o)
{
    struct lines lines = { .n = 0 };
    sbr_error err;
    int status = show(o, &lines, &err) < 0 ? cli_fail(o, &err) : 0;

    for (size_t i = 0; i < lines.n; i++)
        free(lines.at[i]);
    free(lines.at);
    return status;
}

const struct command cmd_audit = {
    .name = "audit",
    .usage = "[--since TIME] [--last N] [--json]",
    .help = "list the runs on record, where the configuration has `audit: true`",
    .examples = "Examples:\n  sandbox-run audit --since 2h\n  sandbox-run audit --last 10 --json\n",
    .options = (const struct option *const[]){ own_options, options_report, options_look,
                                               options_general, NULL },
    .own_size = sizeof(struct audit_options),
    .run = audit_run,
};
