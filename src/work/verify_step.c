/* One check of a verification: how it is run, and what it came to. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "work/run_alone.h"
#include "work/tested.h"
#include "work/verify_parts.h"

#define MOST_OUTPUT 8000
#define REASON_SIZE 300

bool verify_skips(const struct verification *v, const char *check)
{
    for (const char *const *word = v->how->skip; word && *word; word++)
        if (!strcmp(*word, check))
            return true;
    return false;
}

struct verify_step *verify_step_add(struct verification *v, const char *check, const char *tool,
                                    const char *file, sbr_error *err)
{
    struct verify_step *grown = reallocarray(v->steps, v->n_steps + 1, sizeof(*grown)), *step;

    if (!grown) {
        err_set_oom(err, "verify");
        return NULL;
    }
    v->steps = grown;
    step = &grown[v->n_steps++];
    *step = (struct verify_step){ .check = check,
                                  .tool = tool ? strdup(tool) : NULL,
                                  .file = file ? strdup(file) : NULL };
    return step;
}

static char *visible(const char *text, size_t len)
{
    struct report_case holder = { 0 };
    struct report alone = { 0 };
    sbr_error err;

    if (len > MOST_OUTPUT)
        len = MOST_OUTPUT;
    (void)test_report_set_message(&alone, &holder, text, len, &err);
    return holder.message;
}

static void first_line(char *buf, size_t size, const char *text)
{
    while (*text == '\n' || *text == ' ')
        text++;
    snprintf(buf, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static void diagnosis_words(const struct diagnosis *d, char *buf, size_t size)
{
    char line[24] = "";

    if (d->line)
        snprintf(line, sizeof(line), " at line %u", d->line);
    snprintf(buf, size, "%s%s%s%s", d->type ? d->type : "", d->type && d->message ? ": " : "",
             d->message ? d->message : "", line);
}

/* "2 of 10 failed: tests.test_a::test_x, tests.test_a::test_y" */
static void case_words(const struct report *r, char *buf, size_t size)
{
    size_t bad = test_report_count(r, CASE_FAILED) + test_report_count(r, CASE_BROKEN), shown = 0;
    int n = snprintf(buf, size, "%zu of %zu failed", bad, r->n);

    for (size_t i = 0; i < r->n && shown < 3 && n > 0 && (size_t)n < size; i++)
        if (r->cases[i].outcome == CASE_FAILED || r->cases[i].outcome == CASE_BROKEN)
            n += snprintf(buf + n, size - (size_t)n, "%s%.80s", shown++ ? ", " : ": ",
                          r->cases[i].name);
}

static void find_reason(const sbr_result *result, struct verify_step *step)
{
    const sbr_result *part = run_alone_failed_part(result);
    const struct report *r = &step->report;
    char words[REASON_SIZE] = "";

    if (test_report_count(r, CASE_FAILED) + test_report_count(r, CASE_BROKEN))
        case_words(r, words, sizeof(words));
    else if (part->verdict != SBR_EXITED && part->explanation[0])
        snprintf(words, sizeof(words), "%s", part->explanation);
    else if (result->diagnosis && result->diagnosis->message)
        diagnosis_words(result->diagnosis, words, sizeof(words));
    else if (step->output)
        first_line(words, sizeof(words), step->output);
    if (!words[0] && part->verdict == SBR_EXITED)
        snprintf(words, sizeof(words), "exit code %d", part->exit_code);
    step->reason = visible(words, strlen(words));
}

/* Both streams of the part that failed: compilers use one, linters the other. */
static char *collect_output(const sbr_result *result)
{
    const sbr_report *part = sbr_result_report(run_alone_failed_part(result));
    char *text = NULL;
    struct buf all;

    buf_init(&all, 4 * MOST_OUTPUT);
    buf_add(&all, part->out, part->out_len < MOST_OUTPUT ? part->out_len : MOST_OUTPUT);
    buf_add(&all, part->errout, part->errout_len < MOST_OUTPUT ? part->errout_len : MOST_OUTPUT);
    if (all.len && !all.failed)
        text = visible(all.data, all.len);
    buf_done(&all);
    return text;
}

void verify_step_end(struct verify_step *step, const sbr_result *result, bool passed)
{
    const sbr_report *report = sbr_result_report(result);

    step->wall_us = report->wall_us;
    step->outcome = passed ? VERIFY_PASSED : VERIFY_FAILED;
    if (passed)
        return;
    step->output = collect_output(result);
    find_reason(result, step);
    if (report->verdict == SBR_INSTALL_FAILED || report->verdict == SBR_INTERNAL_ERROR)
        step->outcome = VERIFY_ERROR;
}

int verify_go_on(const struct verification *v, sbr_error *err)
{
    struct pollfd stop = { .fd = v->how->stop_fd ? v->how->stop_fd : -1, .events = POLLIN };

    return poll(&stop, 1, 0) == 1
               ? err_set(err, SBR_E_BUSY, "verify", "the checks were stopped before their end")
               : 0;
}

int verify_step_run(struct verification *v, struct verify_step *step, sbr_request *req,
                    const struct test_runner *runner, char **more, sbr_error *err)
{
    struct tested tested = { .stop_fd = v->how->stop_fd,
                             .installs_nothing = v->how->installs_nothing,
                             .installs = v->hooks ? v->hooks->installs : NULL };
    int r = tested_prepare(&tested, runner, req, more, err);

    if (r == 0)
        r = tested_run(&tested, v->rt, req, err);
    if (r == 0) {
        step->report = tested.report;
        tested.report = (struct report){ 0 };
        verify_step_end(step, tested.result,
                        result_success(tested.result) &&
                            !test_report_count(&step->report, CASE_FAILED) &&
                            !test_report_count(&step->report, CASE_BROKEN));
    } else {
        step->outcome = VERIFY_ERROR;
        step->reason = strdup(err->message);
    }
    tested_done(&tested);
    return verify_go_on(v, err);
}

void verify_step_end_cases(struct verify_step *step, const char *problem)
{
    const struct report *r = &step->report;
    char words[REASON_SIZE];

    if (!problem && test_report_count(r, CASE_PASSED) == r->n)
        return;
    step->outcome = problem ? VERIFY_ERROR : VERIFY_FAILED;
    if (!problem)
        case_words(r, words, sizeof(words));
    step->reason = strdup(problem ? problem : words);
}
