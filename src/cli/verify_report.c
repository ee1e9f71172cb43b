/* The verdict of `verify`, for people and as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "cli/cmd_verify.h"
#include "cli/present.h"

static void print_json(const struct verification *v, const char *written)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    verify_put_json(&j, v, written);
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
    printf("%-7s %-8s ", verify_outcome_name(step->outcome), step->check);
    if (step->file)
        present_name(stdout, step->file);
    else
        fputs(step->tool ? step->tool : "", stdout);
    if (step->report.n && !verify_step_is_bad(step))
        printf("  %zu %s", step->report.n, step->report.n == 1 ? "case" : "cases");
    if (step->reason)
        printf("%s%s", step->file || step->tool ? ": " : "", step->reason);
    putchar('\n');
    if (step->report.n)
        print_cases(&step->report);
    else if (verify_step_is_bad(step))
        print_lines(step->output);
}

/* What failed comes first: it is what one reads. */
static void print_text(const struct verification *v)
{
    size_t bad = 0;

    for (size_t i = 0; i < v->n_steps; i++)
        if (verify_step_is_bad(&v->steps[i])) {
            print_step(&v->steps[i]);
            bad++;
        }
    for (size_t i = 0; i < v->n_steps; i++)
        if (!verify_step_is_bad(&v->steps[i]))
            print_step(&v->steps[i]);
    if (bad)
        printf("failed: %zu of %zu checks\n", bad, v->n_steps);
    else
        printf("passed: %zu %s\n", v->n_steps, v->n_steps == 1 ? "check" : "checks");
}

void verify_report_print(const struct options *o, const struct verification *v, const char *written)
{
    if (o->json)
        print_json(v, written);
    else if (!o->quiet || !verify_passed(v))
        print_text(v);
}
