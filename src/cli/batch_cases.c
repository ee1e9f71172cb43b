/* batch --cases DIR PROGRAM: one program, many inputs, a verdict for each, as judges give them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "cli/batch.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "config/audit.h"
#include "plan/language.h"
#include "work/cases.h"
#include "work/results.h"

enum case_verdict {
    CASE_NOT_RUN, /* by --stop, or because the program cannot be compiled */
    CASE_ACCEPTED,
    CASE_WRONG_ANSWER,
    CASE_RUNTIME_ERROR,
    CASE_TIME_LIMIT,
    CASE_MEMORY_LIMIT,
    CASE_OUTPUT_LIMIT,
    CASE_DENIED,
    CASE_COMPILE_ERROR,
    CASE_CHECKER_FAILED,
    CASE_INTERNAL_ERROR
};

static const char *const verdict_words[] = {
    [CASE_NOT_RUN] = "not run",
    [CASE_ACCEPTED] = "accepted",
    [CASE_WRONG_ANSWER] = "wrong answer",
    [CASE_RUNTIME_ERROR] = "runtime error",
    [CASE_TIME_LIMIT] = "time limit",
    [CASE_MEMORY_LIMIT] = "memory limit",
    [CASE_OUTPUT_LIMIT] = "output limit",
    [CASE_DENIED] = "denied",
    [CASE_COMPILE_ERROR] = "compile error",
    [CASE_CHECKER_FAILED] = "checker failed",
    [CASE_INTERNAL_ERROR] = "internal error",
};

/* What an end of the program comes to before its output is looked at. */
static const enum case_verdict verdict_of_end[SBR_INSTALL_FAILED + 1] = {
    [SBR_EXITED] = CASE_RUNTIME_ERROR,
    [SBR_SIGNALED] = CASE_RUNTIME_ERROR,
    [SBR_TIMEOUT] = CASE_TIME_LIMIT,
    [SBR_CPU_LIMIT] = CASE_TIME_LIMIT,
    [SBR_MEMORY_LIMIT] = CASE_MEMORY_LIMIT,
    [SBR_OUTPUT_LIMIT] = CASE_OUTPUT_LIMIT,
    [SBR_DISK_LIMIT] = CASE_RUNTIME_ERROR,
    [SBR_PROCESS_LIMIT] = CASE_RUNTIME_ERROR,
    [SBR_DENIED] = CASE_DENIED,
    [SBR_COMPILE_FAILED] = CASE_COMPILE_ERROR,
    [SBR_INSTALL_FAILED] = CASE_COMPILE_ERROR,
    [SBR_CANCELLED] = CASE_NOT_RUN,
    [SBR_INTERNAL_ERROR] = CASE_INTERNAL_ERROR,
};

/* One case that runs, or whose output waits for the checker. */
struct trial {
    struct trial *next; /* in the queue of the checker */
    size_t index;
    sbr_request req;    /* borrows all but its stdin from the program's, or NULL */
    sbr_request *judge; /* the checker's; NULL: the program itself runs */
    sbr_result *result; /* of the program */
    char *input, *expected;
    size_t input_len, expected_len;
    char note[CHECK_DIFFERENCE_SIZE];
};

struct judging {
    struct batch_front *front;
    struct cases cases;
    struct results results;
    struct check check;
    const char *checker; /* a file; NULL: `check` */
    char *checker_text;
    size_t checker_len;
    enum case_verdict *verdicts; /* one for each case */
    size_t begun;
    bool stopped;
    struct trial *queue, **queue_end;
};

static void free_trial(struct trial *t)
{
    sbr_result_free(t->result);
    request_free(t->judge);
    free(t->input);
    free(t->expected);
    free(t);
}

/* The words of a verdict with underscores, for JSON. */
static void put_verdict(struct jsonw *j, const char *key, enum case_verdict verdict)
{
    char word[32];

    snprintf(word, sizeof(word), "%s", verdict_words[verdict]);
    for (char *c = word; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    jsonw_text(j, key, word);
}

static char *case_json(const struct trial *t, enum case_verdict verdict, const sbr_error *err)
{
    scoped_free char *run = batch_json(t->result, err);
    struct jsonw j;

    if (!run)
        return NULL;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    put_verdict(&j, "verdict", verdict);
    if (t->note[0])
        jsonw_text(&j, "note", t->note);
    buf_add_text(&j.out, ",");
    buf_add_text(&j.out, run + 1);
    return jsonw_take(&j);
}

static char *case_text(const struct judging *g, const struct trial *t, enum case_verdict verdict)
{
    const sbr_report *report = t->result ? sbr_result_report(t->result) : NULL;
    char size[32] = "";

    if (report)
        text_format_size((report->peak_memory_bytes + MIB - 1) / MIB * MIB, size, sizeof(size));
    return text_format("%-20s  %-14s  %6" PRIu64 " ms  %6s%s%s\n", g->cases.items[t->index].name,
                       verdict_words[verdict], report ? report->wall_us / 1000 : 0, size,
                       t->note[0] ? "  " : "", t->note);
}

/* The verdict of a case is there: tells it, and lets the trial go. */
static void decide(struct judging *g, struct trial *t, enum case_verdict verdict,
                   const sbr_error *err)
{
    struct batch_front *front = g->front;
    char digest[RESULTS_DIGEST_SIZE], *json;
    int r;

    g->verdicts[t->index] = verdict;
    g->stopped |= verdict == CASE_COMPILE_ERROR || (front->own->stop && verdict != CASE_ACCEPTED);
    batch_count(front, t->result);
    if (front->o->json) {
        results_digest(t->input, t->input_len, digest);
        json = case_json(t, verdict, err);
        r = results_put(&g->results, t->index + 1, digest, g->cases.items[t->index].name, json,
                        &front->failure);
        free(json);
    } else {
        progress_show(&front->line, NULL);
        r = results_put_line(&g->results, t->index + 1, case_text(g, t, verdict), &front->failure);
    }
    g->stopped |= r < 0;
    free_trial(t);
}

static void note_text(struct trial *t, const char *text, size_t len)
{
    const char *end = len ? memchr(text, '\n', len) : NULL;

    text_copy_visibly(t->note, sizeof(t->note), text, end ? (size_t)(end - text) : len);
}

/* What the checker said: 0 accepted; 1 and 2 wrong; anything else is a fault of the checker. */
static void checker_ended(struct judging *g, struct trial *t, sbr_result *result,
                          const sbr_error *err)
{
    const sbr_report *report = result ? sbr_result_report(result) : NULL;
    enum case_verdict verdict = CASE_CHECKER_FAILED;

    if (report && report->verdict == SBR_EXITED && report->exit_code >= 0 && report->exit_code <= 2)
        verdict = report->exit_code ? CASE_WRONG_ANSWER : CASE_ACCEPTED;
    if (err)
        note_text(t, err->message, strlen(err->message));
    else if (report && report->errout_len && verdict != CASE_ACCEPTED)
        note_text(t, report->errout, report->errout_len);
    else if (result && verdict == CASE_CHECKER_FAILED)
        note_text(t, result->explanation, strlen(result->explanation));
    sbr_result_free(result);
    decide(g, t, verdict, NULL);
}

static int make_judge(const struct judging *g, struct trial *t, sbr_error *err)
{
    static const char *const names[] = { "input.txt", "expected.txt", "output.txt" };
    const struct language *language = language_for_extension(g->checker);
    const char *slash = strrchr(g->checker, '/');
    const sbr_report *report = sbr_result_report(t->result);
    const struct check_text files[] = { { t->input, t->input_len },
                                        { t->expected, t->expected_len },
                                        { report->out, report->out_len } };

    if (request_new(language->name, NULL, &t->judge, err) < 0 ||
        request_add_file(t->judge, slash ? slash + 1 : g->checker, g->checker_text, g->checker_len,
                         err) < 0)
        return err->code;
    audit_as(t->judge, g->front->o->request);
    for (size_t i = 0; i < 3; i++)
        if (request_add_file(t->judge, names[i], files[i].data ? files[i].data : "", files[i].len,
                             err) < 0 ||
            request_add_arg(t->judge, names[i], err) < 0)
            return err->code;
    return 0;
}

static void compare(struct judging *g, struct trial *t)
{
    const sbr_report *report = sbr_result_report(t->result);
    const struct check_text got = { report->out, report->out_len };
    const struct check_text expected = { t->expected, t->expected_len };
    sbr_error err;

    if (report->out_tail) {
        snprintf(t->note, sizeof(t->note), "the output has %" PRIu64 " bytes, too many to compare",
                 report->out_bytes);
        decide(g, t, CASE_OUTPUT_LIMIT, NULL);
    } else if (!g->checker) {
        decide(g, t,
               !t->expected || check_compare(&g->check, expected, got, t->note) ? CASE_ACCEPTED
                                                                                : CASE_WRONG_ANSWER,
               NULL);
    } else if (make_judge(g, t, &err) < 0) {
        note_text(t, err.message, strlen(err.message));
        decide(g, t, CASE_CHECKER_FAILED, NULL);
    } else {
        *g->queue_end = t;
        g->queue_end = &t->next;
    }
}

static void program_ended(struct judging *g, struct trial *t, sbr_result *result,
                          const sbr_error *err)
{
    t->result = result;
    if (batch_was_interrupted(g->front, result)) {
        free_trial(t);
    } else if (!result) {
        note_text(t, err->message, strlen(err->message));
        decide(g, t, CASE_INTERNAL_ERROR, err);
    } else if (result_success(result)) {
        compare(g, t);
    } else {
        note_text(t, result->explanation, strlen(result->explanation));
        decide(g, t, verdict_of_end[result->verdict], NULL);
    }
}

static void done(void *context, void *item, sbr_result *result, const sbr_error *err)
{
    struct trial *t = item;

    if (t->judge)
        checker_ended(context, t, result, err);
    else
        program_ended(context, t, result, err);
}

/* The program's request with the case's input and the limits of its group. */
static int make_trial(struct judging *g, struct trial *t, sbr_error *err)
{
    const struct work_case *c = &g->cases.items[t->index];
    const struct case_group *group = c->group == CASES_NO_GROUP ? NULL : &g->cases.groups[c->group];

    if (cases_read(&g->cases, c->input, &t->input, &t->input_len, err) < 0 ||
        (c->expected &&
         cases_read(&g->cases, c->expected, &t->expected, &t->expected_len, err) < 0))
        return err->code;
    t->req = *g->front->o->request;
    t->req.stdin_data = t->input;
    t->req.stdin_len = t->input_len;
    if (group)
        limits_override(&t->req.limits, &group->limits);
    return 0;
}

static int next(void *context, const sbr_request **ret, void **ret_item)
{
    struct judging *g = context;
    struct trial *t = g->queue;

    if (t) { /* its output waits for the checker */
        g->queue = t->next;
        g->queue_end = g->queue ? g->queue_end : &g->queue;
        *ret = t->judge;
        *ret_item = t;
        return 1;
    }
    if (g->stopped || g->front->failure.code || g->begun == g->cases.n)
        return 0;
    t = calloc(1, sizeof(*t));
    if (!t) {
        err_set_oom(&g->front->failure, "cases");
        return 0;
    }
    t->index = g->begun++;
    if (make_trial(g, t, &g->front->failure) < 0) {
        free_trial(t);
        return 0;
    }
    *ret = &t->req;
    *ret_item = t;
    return 1;
}

/* What a group of cases is worth: all of its points or none, or a share for each case. */
struct score {
    uint64_t cases, accepted, points, of;
};

static struct score score_of(const struct judging *g, size_t group)
{
    const struct case_group *def = &g->cases.groups[group];
    struct score s = { .of = def->points };

    for (size_t i = 0; i < g->cases.n; i++) {
        s.cases += g->cases.items[i].group == group;
        s.accepted += g->cases.items[i].group == group && g->verdicts[i] == CASE_ACCEPTED;
    }
    if (s.cases && (def->each || s.accepted == s.cases))
        s.points = s.of * s.accepted / s.cases;
    return s;
}

static void put_score(struct jsonw *j, const struct score *s, bool points)
{
    jsonw_number(j, "cases", s->cases);
    jsonw_number(j, "accepted", s->accepted);
    if (points) {
        jsonw_number(j, "points", s->points);
        jsonw_number(j, "of", s->of);
    }
}

static struct score score_of_all(const struct judging *g)
{
    struct score all = { .cases = g->cases.n };

    for (size_t i = 0; i < g->cases.n; i++)
        all.accepted += g->verdicts[i] == CASE_ACCEPTED;
    for (size_t i = 0; i < g->cases.n_groups; i++) {
        struct score s = score_of(g, i);

        all.points += s.points;
        all.of += s.of;
    }
    return all;
}

static void print_summary(const struct judging *g, const struct score *all)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "summary", '{');
    put_score(&j, all, g->cases.n_groups > 0);
    jsonw_open(&j, "groups", '[');
    for (size_t i = 0; i < g->cases.n_groups; i++) {
        struct score s = score_of(g, i);

        jsonw_open(&j, NULL, '{');
        jsonw_text(&j, "name", g->cases.groups[i].name);
        put_score(&j, &s, true);
        jsonw_close(&j, '}');
    }
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    jsonw_close(&j, '}');
    present_json(&j);
}

static void summarize(struct batch_front *front)
{
    const struct judging *g = front->context;
    struct score all = score_of_all(g);

    if (front->o->json) {
        print_summary(g, &all);
        return;
    }
    printf("%" PRIu64 " of %" PRIu64 " accepted", all.accepted, all.cases);
    if (all.of)
        printf(", %" PRIu64 " of %" PRIu64 " points", all.points, all.of);
    for (size_t i = 0; i < g->cases.n_groups; i++) {
        struct score s = score_of(g, i);

        printf("%s%s %" PRIu64 " of %" PRIu64, i ? ", " : ": ", g->cases.groups[i].name, s.points,
               s.of);
    }
    putchar('\n');
}

static int read_checker(struct judging *g, sbr_error *err)
{
    const struct batch_options *own = g->front->own;
    const char *name = own->checker ? own->checker : g->cases.checker;
    const char *tolerance = own->tolerance ? own->tolerance : g->cases.tolerance;
    int kind = name ? check_kind_from_name(name) : CHECK_TOKENS;

    g->check.tolerance = CHECK_TOLERANCE;
    if (tolerance && check_parse_tolerance(tolerance, &g->check.tolerance, err) < 0)
        return err->code;
    if (kind >= 0) {
        g->check.kind = (enum check_kind)kind;
        return 0;
    }
    if (!language_for_extension(name))
        return err_set(err, SBR_E_INVALID, "checker",
                       "'%.100s' is neither tokens, exact or floats nor a program in a language "
                       "that is known by the ending of its name",
                       name);
    g->checker = name;
    /* What cases.yaml names is one of its directory. */
    return own->checker ? source_read_path(name, &g->checker_text, &g->checker_len, err)
                        : cases_read(&g->cases, name, &g->checker_text, &g->checker_len, err);
}

static int open_judging(struct judging *g, sbr_error *err)
{
    struct options *o = g->front->o;
    struct source source;

    if (g->front->own->results)
        return err_set(err, SBR_E_INVALID, "options",
                       "--results goes with requests, not with --cases; redirect stdout instead");
    if (cases_load(g->front->own->cases, o->request, &g->cases, err) < 0 ||
        read_checker(g, err) < 0 || source_load(o, &source, err) < 0 ||
        settings_apply(o, err) < 0 ||
        results_open(NULL, NULL, !g->front->own->as_completed, &g->results, err) < 0)
        return err->code;
    g->front->total = g->cases.n;
    g->verdicts = calloc(g->cases.n, sizeof(*g->verdicts));
    return g->verdicts ? 0 : err_set_oom(err, "cases");
}

int batch_run_cases(struct batch_front *front)
{
    struct judging g = { .front = front, .results.fd = -1, .cases.tree.fd = -1 };
    sbr_batch batch = { .first_alone = 1, .context = &g, .next = next, .done = done };
    sbr_error err;
    int status;

    g.queue_end = &g.queue;
    /* cppcheck-suppress autoVariables ; the front does not outlive this call */
    front->context = &g;
    front->noun = "case";
    front->nouns = "cases";
    front->summarize = summarize;
    if (open_judging(&g, &err) < 0)
        status = cli_fail(front->o, &err);
    else
        status = batch_start(front, &batch, &g.results);
    if (status == 0 && score_of_all(&g).accepted < g.cases.n)
        status = 1;
    results_done(&g.results);
    cases_done(&g.cases);
    free(g.checker_text);
    free(g.verdicts);
    return status;
}
