/* audit: the runs that the configuration wants on record. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "cli/action.h"
#include "cli/audit_view.h"
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
    json_t *line =
        json_read(text, len, &json_read_answer, JSON_REJECT_DUPLICATES, "the line", NULL);
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
    json_t *line = json_read_own(text, 0);
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

/* Reads the lines that --since and --last choose; the number of the first to show. */
static int gather(const struct options *o, struct lines *lines, size_t *ret_first, sbr_error *err)
{
    const struct audit_options *own = o->own;
    uint64_t last = UINT64_MAX;

    if (own->last && text_parse_count(own->last, &last) != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "audit", "--last '%.40s' is no number", own->last);
    if ((own->since && parse_since(own->since, lines->since, err) < 0) ||
        audit_read(choose, lines, err) < 0)
        return err->code;
    if (lines->failed)
        return err_set_oom(err, "audit");
    *ret_first = lines->n > last ? lines->n - (size_t)last : 0;
    return 0;
}

static void forget(struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        free(lines->at[i]);
    free(lines->at);
}

static int list_run(const struct options *o, sbr_error *err)
{
    struct lines lines __attribute__((cleanup(forget))) = { .n = 0 };
    size_t first;

    if (gather(o, &lines, &first, err) < 0)
        return err->code;
    for (size_t i = first; !o->json && i < lines.n; i++)
        print_line(lines.at[i]);
    if (o->json)
        print_json(&lines, first);
    else if (lines.damaged)
        fprintf(stderr, "sandbox-run: %zu lines of the audit are damaged\n", lines.damaged);
    return 0;
}

/* As they are kept, with the hashes of the chain. */
static int export_run(const struct options *o, sbr_error *err)
{
    struct lines lines __attribute__((cleanup(forget))) = { .n = 0 };
    size_t first;

    if (gather(o, &lines, &first, err) < 0)
        return err->code;
    for (size_t i = first; i < lines.n; i++)
        puts(lines.at[i]);
    return 0;
}

/* One entry, with its code where that was kept. */
static int show_entry(const struct options *o, json_t *line, sbr_error *err)
{
    json_t *code = NULL;

    if (json_is_true(json_object_get(line, "code_kept"))) {
        if (audit_view_find(text_at(line, "program_sha256"), &code, err) < 0)
            return err->code;
        json_object_set_new(line, "code", code ? code : json_null());
    }
    json_dumpf(line, stdout, JSON_ENSURE_ASCII | (o->json ? JSON_COMPACT : JSON_INDENT(2)));
    putchar('\n');
    return 0;
}

static int show_run(const struct options *o, sbr_error *err)
{
    struct lines lines __attribute__((cleanup(forget))) = { .n = 0 };
    const char *id = o->positional[1];
    size_t first = 0, found = 0;
    int r = gather(o, &lines, &first, err);

    for (size_t i = first; r == 0 && i < lines.n; i++) {
        json_t *line = json_read_own(lines.at[i], 0);

        if (!strncmp(text_at(line, "id"), id, strlen(id)) && ++found)
            r = show_entry(o, line, err);
        json_decref(line);
    }
    if (r < 0)
        return r;
    return found ? 0
                 : err_set(err, SBR_E_NOT_FOUND, "audit",
                           "no entry has an id that begins with '%.40s'; `sandbox-run audit list` "
                           "shows them",
                           id);
}

/* The exit status is 125 for a chain that is broken. */
static int verify_run(const struct options *o, sbr_error *err)
{
    struct audit_view_counts code;
    struct audit_chain chain;

    if (audit_verify(&chain, err) < 0 || audit_view_count(&code, err) < 0)
        return err->code;
    if (chain.first_bad)
        return err_set(err, SBR_E_DENIED, "audit",
                       "the chain breaks at line %llu: it was changed, or lines before it are "
                       "missing",
                       (unsigned long long)chain.first_bad);
    if (o->json)
        printf("{\"valid\":true,\"lines\":%llu,\"unchained\":%llu,\"torn\":%llu,\"code_kept\":%llu,"
               "\"code_damaged\":%llu,\"head\":\"%s\"}\n",
               (unsigned long long)chain.lines, (unsigned long long)chain.unchained,
               (unsigned long long)chain.torn, (unsigned long long)code.kept,
               (unsigned long long)code.damaged, chain.head);
    else
        printf("valid: %llu lines, %llu torn, %llu from before the chain; head %s\n",
               (unsigned long long)chain.lines, (unsigned long long)chain.torn,
               (unsigned long long)chain.unchained, chain.head);
    if (code.damaged)
        fprintf(stderr, "sandbox-run: the code of %llu programs is not what ran\n",
                (unsigned long long)code.damaged);
    return 0;
}

/* Counts entries by one word of theirs. */
static void count(json_t *by, const char *word)
{
    const char *key = *word ? word : "none";

    json_object_set_new(by, key, json_integer(json_integer_value(json_object_get(by, key)) + 1));
}

static const char *const counted[] = { "outcomes", "languages", "callers" };

static const struct {
    const char *key, *title;
} sums[] = {
    { "wall_us", "wall time" },
    { "cpu_us", "CPU time" },
    { "total_us", "in all" },
};

static void add_to_stats(json_t *stats, const json_t *line)
{
    const char *language = text_at(json_object_get(line, "request"), "language");

    count(json_object_get(stats, "outcomes"), text_at(line, "outcome"));
    if (json_object_get(line, "kind"))
        return;
    count(json_object_get(stats, "languages"), *language ? language : "command");
    count(json_object_get(stats, "callers"), text_at(line, "caller"));
    for (size_t i = 0; i < ARRAY_LEN(sums); i++)
        json_object_set_new(stats, sums[i].key,
                            json_integer(json_integer_value(json_object_get(stats, sums[i].key)) +
                                         json_integer_value(json_object_get(line, sums[i].key))));
}

/* "outcomes   exited 3, timeout 1" */
static void show_counts(const char *title, json_t *by)
{
    const char *word, *gap = "";
    json_t *n;

    printf("%-11s", title);
    json_object_foreach(by, word, n) {
        printf("%s", gap);
        present_name(stdout, word);
        printf(" %" JSON_INTEGER_FORMAT, json_integer_value(n));
        gap = ", ";
    }
    printf("%s\n", *gap ? "" : "none");
}

static void show_stats(json_t *stats)
{
    printf("%-11s%" JSON_INTEGER_FORMAT "\n", "entries",
           json_integer_value(json_object_get(stats, "entries")));
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        show_counts(counted[i], json_object_get(stats, counted[i]));
    for (size_t i = 0; i < ARRAY_LEN(sums); i++)
        printf("%-11s%.3f s\n", sums[i].title,
               (double)json_integer_value(json_object_get(stats, sums[i].key)) / 1e6);
}

static int stats_run(const struct options *o, sbr_error *err)
{
    struct lines lines __attribute__((cleanup(forget))) = { .n = 0 };
    size_t first;
    json_t *stats;

    if (gather(o, &lines, &first, err) < 0)
        return err->code;
    stats = json_pack("{s:I, s:{}, s:{}, s:{}}", "entries", (json_int_t)(lines.n - first),
                      "outcomes", "languages", "callers");
    for (size_t i = first; i < lines.n; i++) {
        json_t *line = json_read_own(lines.at[i], 0);

        add_to_stats(stats, line);
        json_decref(line);
    }
    if (o->json) {
        json_dumpf(stats, stdout, JSON_ENSURE_ASCII | JSON_COMPACT);
        putchar('\n');
    } else {
        show_stats(stats);
    }
    json_decref(stats);
    return 0;
}

static const struct action actions[] = {
    { "list", list_run, 0, 0, "" },     { "show", show_run, 1, 1, " ID" },
    { "verify", verify_run, 0, 0, "" }, { "export", export_run, 0, 0, "" },
    { "stats", stats_run, 0, 0, "" },   { 0 },
};

static int audit_run(struct options *o)
{
    sbr_error err = { 0 };
    const struct action *action = action_find(o, actions, &err);

    return !action || action->run(o, &err) < 0 ? cli_fail(o, &err) : 0;
}

const struct command cmd_audit = {
    .name = "audit",
    .usage = "[list | show ID | verify | export | stats] [--since TIME] [--last N] [--json]",
    .help = "the runs on record, where the configuration has `audit: true`; whether it is whole",
    .examples =
        "Examples:\n"
        "  sandbox-run audit --since 2h\n"
        "  sandbox-run audit --last 10 --json\n"
        "  sandbox-run audit verify             says whether a line was changed or removed\n"
        "  sandbox-run audit stats --since 24h\n",
    .options = (const struct option *const[]){ own_options, options_report, options_look,
                                               options_general, NULL },
    .own_size = sizeof(struct audit_options),
    .actions = actions,
    .run = audit_run,
};
