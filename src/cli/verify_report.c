/* The verdict of `verify`, for people and as JSON (data/schemas/verify.json). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/present.h"
#include "cli/verify.h"

static const char *const outcome_names[] = {
    [VERIFY_PASSED] = "passed",
    [VERIFY_FAILED] = "failed",
    [VERIFY_ERROR] = "error",
    [VERIFY_SKIPPED] = "skipped",
};

static bool is_bad(const struct verify_step *step)
{
    return step->outcome == VERIFY_FAILED || step->outcome == VERIFY_ERROR;
}

bool verify_passed(const struct verification *v)
{
    for (size_t i = 0; i < v->n_steps; i++)
        if (is_bad(&v->steps[i]))
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

static void print_json(const struct verification *v)
{
    char words[700];
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "verdict", verify_passed(v) ? "passed" : "failed");
    jsonw_open(&j, "reasons", '[');
    for (size_t i = 0; i < v->n_steps; i++) {
        if (!is_bad(&v->steps[i]))
            continue;
        reason_words(&v->steps[i], words, sizeof(words));
        jsonw_text(&j, NULL, words);
    }
    jsonw_close(&j, ']');
    jsonw_open(&j, "checks", '[');
    for (size_t i = 0; i < v->n_steps; i++)
        put_step(&j, &v->steps[i]);
    jsonw_close(&j, ']');
    if (v->written)
        jsonw_path(&j, "written", v->written);
    else
        jsonw_null(&j, "written");
    jsonw_close(&j, '}');
    present_json(&j);
}

static void print_lines(const char *text)
{
    while (text && *text) {
        size_t len = strcspn(text, "\n");

        printf("        %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void print_cases(const struct report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct report_case *c = &r->cases[i];

        if (c->outcome != CASE_FAILED && c->outcome != CASE_BROKEN)
            continue;
        printf("      %s", c->name);
        if (c->file)
            printf("  %s:%u", c->file, c->line);
        putchar('\n');
        print_lines(c->message);
    }
}

static void print_step(const struct verify_step *step)
{
    printf("%-7s %-8s ", outcome_names[step->outcome], step->check);
    if (step->file)
        present_name(stdout, step->file);
    else
        fputs(step->tool ? step->tool : "", stdout);
    if (step->report.n && !is_bad(step))
        printf("  %zu cases", step->report.n);
    if (step->reason)
        printf("%s%s", step->file || step->tool ? ": " : "", step->reason);
    putchar('\n');
    if (step->report.n)
        print_cases(&step->report);
    else if (is_bad(step))
        print_lines(step->output);
}

/* What failed comes first: it is what one reads. */
static void print_text(const struct verification *v)
{
    size_t bad = 0;

    for (size_t i = 0; i < v->n_steps; i++)
        if (is_bad(&v->steps[i])) {
            print_step(&v->steps[i]);
            bad++;
        }
    for (size_t i = 0; i < v->n_steps; i++)
        if (!is_bad(&v->steps[i]))
            print_step(&v->steps[i]);
    if (bad)
        printf("failed: %zu of %zu checks\n", bad, v->n_steps);
    else
        printf("passed: %zu %s\n", v->n_steps, v->n_steps == 1 ? "check" : "checks");
    if (v->written) {
        fputs("written: ", stdout);
        present_name(stdout, v->written);
        putchar('\n');
    }
}

void verify_print(const struct verification *v)
{
    if (v->o->json)
        print_json(v);
    else if (!v->o->quiet || !verify_passed(v))
        print_text(v);
}
