/* The verdict of a verification as JSON (data/schemas/verify.json). */
#include <stdio.h>

#include "base/jsonw.h"
#include "work/verify.h"

static const char *const outcome_names[] = {
    [VERIFY_PASSED] = "passed",
    [VERIFY_FAILED] = "failed",
    [VERIFY_ERROR] = "error",
    [VERIFY_SKIPPED] = "skipped",
};

const char *verify_outcome_name(enum verify_outcome outcome)
{
    return outcome_names[outcome];
}

bool verify_step_is_bad(const struct verify_step *step)
{
    return step->outcome == VERIFY_FAILED || step->outcome == VERIFY_ERROR;
}

bool verify_passed(const struct verification *v)
{
    for (size_t i = 0; i < v->n_steps; i++)
        if (verify_step_is_bad(&v->steps[i]))
            return false;
    return true;
}

static void put_step(struct jsonw *j, const struct verify_step *step)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "check", step->check);
    jsonw_text(j, "tool", step->tool);
    if (step->file)
        jsonw_path(j, "file", step->file);
    else
        jsonw_null(j, "file");
    jsonw_text(j, "outcome", outcome_names[step->outcome]);
    jsonw_text(j, "reason", step->reason);
    jsonw_fixed(j, "time_ms", step->wall_us, 3);
    jsonw_text(j, "output", step->output);
    test_report_put_json(j, "cases", &step->report);
    jsonw_close(j, '}');
}

/* "syntax of a.py: SyntaxError: invalid syntax at line 3" */
static void reason_words(const struct verify_step *step, char *buf, size_t size)
{
    const char *of = step->file ? step->file : step->tool ? step->tool : "";

    snprintf(buf, size, "%s%s%.200s: %s", step->check,
             step->file ? " of "
             : *of      ? " by "
                        : "",
             of, step->reason ? step->reason : "");
}

void verify_put_json(struct jsonw *j, const struct verification *v, const char *written)
{
    char words[700];

    jsonw_open(j, NULL, '{');
    jsonw_text(j, "verdict", verify_passed(v) ? "passed" : "failed");
    jsonw_open(j, "reasons", '[');
    for (size_t i = 0; i < v->n_steps; i++) {
        if (!verify_step_is_bad(&v->steps[i]))
            continue;
        reason_words(&v->steps[i], words, sizeof(words));
        jsonw_text(j, NULL, words);
    }
    jsonw_close(j, ']');
    jsonw_open(j, "checks", '[');
    for (size_t i = 0; i < v->n_steps; i++)
        put_step(j, &v->steps[i]);
    jsonw_close(j, ']');
    if (written)
        jsonw_path(j, "written", written);
    else
        jsonw_null(j, "written");
    jsonw_close(j, '}');
}
