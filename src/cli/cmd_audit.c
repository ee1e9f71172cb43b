/* audit: the runs that the configuration wants on record. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "cli/action.h"
#include "cli/audit_view.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "config/audit.h"
#include "config/config.h"

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

/* A walk over the lines that --since and --last choose, in order.  The record may be larger than
 * memory: only what --last wants is kept. */
struct walk {
    void (*visit)(void *context, json_t *line, const char *text);
    void *context;
    char since[RESULT_TIME_SIZE]; /* times of this form sort as text */
    uint64_t last;                /* 0: all */
    char **ring;                  /* the last ones, the oldest at n % last */
    uint64_t n;
    size_t damaged;
    bool found, failed;
};

#define LAST_MAX 1000000

static void keep_last(struct walk *walk, const char *text, size_t len)
{
    char **at = &walk->ring[walk->n++ % walk->last];

    free(*at);
    *at = strndup(text, len);
    walk->failed |= !*at;
}

static void choose(void *context, const char *text, size_t len)
{
    struct walk *walk = context;
    json_t *line = json_read(text, len, &json_read_line, JSON_REJECT_DUPLICATES, "the line", NULL);
    const char *time = json_string_value(json_object_get(line, "time"));
    const char *kind = json_string_value(json_object_get(line, "kind"));
    scoped_free char *whole = NULL;

    if (!time) { /* the line that begins a file has none */
        walk->damaged += !kind;
    } else if (strcmp(time, walk->since) >= 0) {
        walk->found = true;
        if (walk->last)
            keep_last(walk, text, len);
        else if ((whole = strndup(text, len)))
            walk->visit(walk->context, line, whole);
        walk->failed |= !walk->last && !whole;
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

static void print_line(void *context, json_t *line, const char *text)
{
    const json_t *request = json_object_get(line, "request"), *code;
    char shown[16] = "";

    (void)context;
    (void)text;
    code = json_object_get(line, "exit_code");
    if (code)
        snprintf(shown, sizeof(shown), " %d", (int)json_integer_value(code));
    printf("%.19sZ  %.12s  %s%-*s  %8.3f s  %s ", text_at(line, "time"), text_at(line, "id"),
           text_at(line, "outcome"), 14 - (int)strlen(text_at(line, "outcome")), shown,
           (double)json_integer_value(json_object_get(line, "total_us")) / 1e6,
           *text_at(request, "language") ? text_at(request, "language") : "command");
    present_name(stdout, text_at(request, "program"));
    printf("\n");
}

/* The lines are JSON already. */
static void print_element(void *context, json_t *line, const char *text)
{
    const char **gap = context;

    (void)line;
    printf("%s%s", *gap, text);
    *gap = ",\n";
}

static void print_text(void *context, json_t *line, const char *text)
{
    (void)context;
    (void)line;
    puts(text);
}

/* "2026-11-18T13:00:00Z     26000  401 unauthorized    GET /v1/executions" */
static void print_refusals(void *context, json_t *line, const char *text)
{
    json_t *row;
    size_t i;

    (void)context;
    (void)text;
    json_array_foreach(json_object_get(line, "reasons"), i, row) {
        printf("%.19sZ  %8" JSON_INTEGER_FORMAT "  %3" JSON_INTEGER_FORMAT " %-14s  %s ",
               text_at(line, "from"), json_integer_value(json_object_get(row, "count")),
               json_integer_value(json_object_get(row, "status")), text_at(row, "reason"),
               text_at(row, "method"));
        present_name(stdout, text_at(row, "path"));
        if (*text_at(row, "caller"))
            printf("  by ");
        present_name(stdout, text_at(row, "caller"));
        printf("\n");
    }
    if (json_object_get(line, "others"))
        printf("%.19sZ  %8" JSON_INTEGER_FORMAT "  others\n", text_at(line, "from"),
               json_integer_value(json_object_get(line, "others")));
}

static void visit_last(struct walk *walk)
{
    for (uint64_t i = walk->n > walk->last ? walk->n - walk->last : 0; i < walk->n; i++) {
        const char *text = walk->ring[i % walk->last];
        json_t *line = json_read_own(text, 0);

        if (line)
            walk->visit(walk->context, line, text);
        json_decref(line);
    }
}

static void walk_done(struct walk *walk)
{
    for (uint64_t i = 0; walk->ring && i < walk->last; i++)
        free(walk->ring[i]);
    free(walk->ring);
}

static int walk_record(const struct options *o, enum audit_record record, struct walk *walk,
                       sbr_error *err)
{
    const struct audit_options *own = o->own;

    if (own->last && (text_parse_count(own->last, &walk->last) != TEXT_OK || walk->last > LAST_MAX))
        return err_set(err, SBR_E_INVALID, "audit", "--last '%.40s' is no number up to %d",
                       own->last, LAST_MAX);
    if (own->last && !walk->last)
        return 0;
    walk->ring = walk->last ? calloc(walk->last, sizeof(*walk->ring)) : NULL;
    if (walk->last && !walk->ring)
        return err_set_oom(err, "audit");
    if ((own->since && parse_since(own->since, walk->since, err) < 0) ||
        audit_chain_read(record, choose, walk, err) < 0)
        return err->code;
    if (walk->failed)
        return err_set_oom(err, "audit");
    if (walk->last)
        visit_last(walk);
    return 0;
}

static int list_record(const struct options *o, enum audit_record record, const char *name,
                       void (*print)(void *, json_t *, const char *), sbr_error *err)
{
    const char *gap = "\n";
    struct walk walk __attribute__((cleanup(walk_done))) = {
        .visit = o->json ? print_element : print,
        .context = &gap,
    };

    if (o->json)
        printf("{\"%s\":[", name);
    if (walk_record(o, record, &walk, err) < 0)
        return err->code;
    if (o->json)
        printf("],\"damaged\":%zu}\n", walk.damaged);
    else if (!walk.found && (!o->config || !o->config->audit))
        fputs("sandbox-run: the audit is off; `audit: true` in your configuration turns it on\n",
              stderr);
    if (!o->json && walk.damaged)
        fprintf(stderr, "sandbox-run: %zu lines of the audit are damaged\n", walk.damaged);
    return 0;
}

static int list_run(const struct options *o, sbr_error *err)
{
    return list_record(o, AUDIT_RUNS, "runs", print_line, err);
}

/* Requests that the gateway refused, counted for each minute. */
static int refused_run(const struct options *o, sbr_error *err)
{
    return list_record(o, AUDIT_REFUSED, "refused", print_refusals, err);
}

/* As they are kept, with the hashes of the chain. */
static int export_run(const struct options *o, sbr_error *err)
{
    struct walk walk __attribute__((cleanup(walk_done))) = { .visit = print_text };

    return walk_record(o, AUDIT_RUNS, &walk, err);
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

/* A search for one entry. */
struct wanted {
    const struct options *o;
    const char *id;
    size_t found;
    int r;
    sbr_error *err;
};

static void show_wanted(void *context, json_t *line, const char *text)
{
    struct wanted *wanted = context;

    (void)text;
    if (wanted->r == 0 && !strncmp(text_at(line, "id"), wanted->id, strlen(wanted->id))) {
        wanted->found++;
        wanted->r = show_entry(wanted->o, line, wanted->err);
    }
}

static int show_run(const struct options *o, sbr_error *err)
{
    struct wanted wanted = { .o = o, .id = o->positional[1], .err = err };
    struct walk walk
        __attribute__((cleanup(walk_done))) = { .visit = show_wanted, .context = &wanted };

    if (walk_record(o, AUDIT_RUNS, &walk, err) < 0 || wanted.r < 0)
        return err->code;
    return wanted.found ? 0
                        : err_set(err, SBR_E_NOT_FOUND, "audit",
                                  "no entry has an id that begins with '%.40s'; `sandbox-run audit "
                                  "list` shows them",
                                  wanted.id);
}

static int verify_record(enum audit_record record, const char *name, struct audit_chain *ret,
                         sbr_error *err)
{
    if (audit_chain_verify(record, ret, err) < 0)
        return err->code;
    if (ret->first_bad)
        return err_set(err, SBR_E_DENIED, "audit",
                       "the chain of %s breaks at line %llu: it was changed, or lines before it "
                       "are missing",
                       name, (unsigned long long)ret->first_bad);
    return 0;
}

static void print_chain_json(const struct audit_chain *chain)
{
    printf("\"lines\":%llu,\"unchained\":%llu,\"torn\":%llu,\"gone\":",
           (unsigned long long)chain->lines, (unsigned long long)chain->unchained,
           (unsigned long long)chain->torn);
    if (chain->gone_unknown)
        printf("null");
    else
        printf("%llu", (unsigned long long)chain->gone);
    printf(",\"head\":\"%s\"", chain->head);
}

static void print_chain(const char *name, const struct audit_chain *chain)
{
    printf("valid: %llu lines of %s, %llu torn, %llu from before the chain",
           (unsigned long long)chain->lines, name, (unsigned long long)chain->torn,
           (unsigned long long)chain->unchained);
    if (chain->gone_unknown)
        printf("; older lines made room, and nobody counted them");
    else if (chain->gone)
        printf("; %llu older lines made room, as `retention` says",
               (unsigned long long)chain->gone);
    printf("; head %s\n", chain->lines ? chain->head : "none");
}

/* The exit status is 125 for a chain that is broken. */
static int verify_run(const struct options *o, sbr_error *err)
{
    struct audit_view_counts code;
    struct audit_chain runs, refused;

    if (verify_record(AUDIT_RUNS, "runs", &runs, err) < 0 ||
        verify_record(AUDIT_REFUSED, "refused requests", &refused, err) < 0 ||
        audit_view_count(&code, err) < 0)
        return err->code;
    if (o->json) {
        printf("{\"valid\":true,");
        print_chain_json(&runs);
        printf(",\"code_kept\":%llu,\"code_damaged\":%llu,\"refused\":{",
               (unsigned long long)code.kept, (unsigned long long)code.damaged);
        print_chain_json(&refused);
        printf("}}\n");
    } else {
        print_chain("runs", &runs);
        if (refused.lines)
            print_chain("refused requests", &refused);
    }
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

static void add_to_stats(void *context, json_t *line, const char *text)
{
    json_t *stats = context;
    const char *language = text_at(json_object_get(line, "request"), "language");

    (void)text;
    json_object_set_new(stats, "entries",
                        json_integer(json_integer_value(json_object_get(stats, "entries")) + 1));
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
    json_t *stats =
        json_pack("{s:i, s:{}, s:{}, s:{}}", "entries", 0, "outcomes", "languages", "callers");
    struct walk walk
        __attribute__((cleanup(walk_done))) = { .visit = add_to_stats, .context = stats };
    int r = walk_record(o, AUDIT_RUNS, &walk, err);

    if (r == 0 && o->json) {
        json_dumpf(stats, stdout, JSON_ENSURE_ASCII | JSON_COMPACT);
        putchar('\n');
    } else if (r == 0) {
        show_stats(stats);
    }
    json_decref(stats);
    return r;
}

static const struct action actions[] = {
    { "list", list_run, 0, 0, "" },
    { "show", show_run, 1, 1, " ID" },
    { "verify", verify_run, 0, 0, "" },
    { "export", export_run, 0, 0, "" },
    { "stats", stats_run, 0, 0, "" },
    { "refused", refused_run, 0, 0, "" },
    { 0 },
};

static int audit_run(struct options *o)
{
    sbr_error err = { 0 };
    const struct action *action = action_find(o, actions, &err);

    return !action || action->run(o, &err) < 0 ? cli_fail(o, &err) : 0;
}

const struct command cmd_audit = {
    .name = "audit",
    .usage =
        "[list | show ID | verify | export | stats | refused] [--since TIME] [--last N] [--json]",
    .help = "the runs on record, where the configuration has `audit: true`; whether it is whole",
    .examples =
        "Examples:\n"
        "  sandbox-run audit --since 2h\n"
        "  sandbox-run audit --last 10 --json\n"
        "  sandbox-run audit verify             says whether a line was changed or removed\n"
        "  sandbox-run audit refused            what the HTTP gateway refused, minute by minute\n"
        "  sandbox-run audit stats --since 24h\n",
    .options = (const struct option *const[]){ own_options, options_report, options_look,
                                               options_quiet, options_general, NULL },
    .own_size = sizeof(struct audit_options),
    .actions = actions,
    .run = audit_run,
};
