#include "work/comparison.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "work/run_alone.h"

static int read_checker(struct comparison *c, sbr_error *err)
{
    int kind = c->how->checker ? check_kind_from_name(c->how->checker) : CHECK_EXACT;

    c->check = (struct check){ .tolerance = CHECK_TOLERANCE, .expected = "A has", .got = "B" };
    if (kind < 0)
        return err_set(err, SBR_E_INVALID, "checker",
                       "there is no checker '%.60s'; give exact, tokens or floats",
                       c->how->checker);
    c->check.kind = (enum check_kind)kind;
    return c->how->tolerance ? check_parse_tolerance(c->how->tolerance, &c->check.tolerance, err)
                             : 0;
}

static int run_one(struct comparison *c, struct measure *m, const sbr_input *input,
                   sbr_result **ret, sbr_error *err)
{
    sbr_request req = *m->req; /* borrows all but its stdin */

    if (input->data) {
        req.stdin_data = (char *)(uintptr_t)input->data;
        req.stdin_len = input->len;
    }
    if (run_alone(c->rt, &req, c->how->stop_fd, ret, err) < 0)
        return err->code;
    return measure_check(m, c->hooks, *ret, err);
}

static void describe_end(const sbr_result *result, char *buf, size_t size)
{
    const sbr_report *report = sbr_result_report(result);

    if (report->verdict == SBR_EXITED)
        snprintf(buf, size, "status %d", report->exit_code);
    else
        snprintf(buf, size, "%s", sbr_verdict_name(report->verdict));
}

/* Looks at the ends first, then at the outputs. */
static void compare_results(struct comparison *c, size_t input, const sbr_result *a,
                            const sbr_result *b)
{
    const sbr_report *one = sbr_result_report(a), *two = sbr_result_report(b);
    char first[40], second[40], difference[CHECK_DIFFERENCE_SIZE];

    describe_end(a, first, sizeof(first));
    describe_end(b, second, sizeof(second));
    if (strcmp(first, second) != 0)
        snprintf(difference, sizeof(difference), "A ended with %s, B with %s", first, second);
    else if (one->out_bytes != two->out_bytes && (one->out_tail || two->out_tail))
        snprintf(difference, sizeof(difference), "A wrote %" PRIu64 " bytes, B %" PRIu64,
                 one->out_bytes, two->out_bytes);
    else if (check_compare(&c->check, (struct check_text){ one->out, one->out_len },
                           (struct check_text){ two->out, two->out_len }, difference))
        return;
    if (c->differs++)
        return;
    c->different_input = input;
    snprintf(c->difference, sizeof(c->difference), "%s", difference);
}

/* One after the other, in turns, so that whatever disturbs the machine disturbs both. */
static int run_round(struct comparison *c, bool counts, bool look, sbr_error *err)
{
    uint64_t wall_a = 0, wall_b = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->n_inputs; i++) {
        sbr_result *a = NULL, *b = NULL;

        r = run_one(c, &c->a, &c->inputs[i], &a, err);
        if (r == 0)
            r = run_one(c, &c->b, &c->inputs[i], &b, err);
        if (r == 0 && look)
            compare_results(c, i, a, b);
        if (r == 0 && counts) {
            wall_a += sbr_result_report(a)->wall_us;
            wall_b += sbr_result_report(b)->wall_us;
            r = measure_add(&c->a, a, err) < 0 ? err->code : measure_add(&c->b, b, err);
        }
        sbr_result_free(a);
        sbr_result_free(b);
    }
    if (r == 0 && counts && wall_b)
        r = stats_add(&c->ratios, wall_a * 1000 / wall_b, err);
    return r;
}

/* "B 1.8 × faster, ± 6 %"; below a tenth "B 4 % faster, ± 1 %", which would else read as 1.0 ×. */
static void speed_words(const struct stats *ratio, char *buf, size_t size)
{
    uint64_t percent = (ratio->spread_permille + 5) / 10;
    char side = ratio->median >= 1000 ? 'B' : 'A';
    uint64_t faster = ratio->median >= 1000 ? ratio->median
                      : ratio->median       ? 1000000 / ratio->median
                                            : 0;

    if (faster <= 1000 + ratio->spread_permille || faster < 1005)
        snprintf(buf, size, "as fast as each other, ± %" PRIu64 " %%", percent);
    else if (faster < 1100)
        snprintf(buf, size, "%c %" PRIu64 " %% faster, ± %" PRIu64 " %%", side,
                 (faster - 1000 + 5) / 10, percent);
    else
        snprintf(buf, size, "%c %" PRIu64 ".%" PRIu64 " × faster, ± %" PRIu64 " %%", side,
                 faster / 1000, faster % 1000 / 100, percent);
}

static void conclude(struct comparison *c)
{
    char speed[80];

    c->ratio = stats_of(&c->ratios);
    speed_words(&c->ratio, speed, sizeof(speed));
    snprintf(c->verdict, sizeof(c->verdict), "%s, %s",
             c->differs ? "different output" : "same output", speed);
}

int comparison_run(sbr_runtime *rt, const sbr_compare *how, const struct measure_hooks *hooks,
                   struct comparison *c, sbr_error *err)
{
    static const sbr_input own = { .name = "" };

    c->rt = rt;
    c->how = how;
    c->hooks = hooks;
    c->inputs = how->n_inputs ? how->inputs : &own;
    c->n_inputs = how->n_inputs ? how->n_inputs : 1;
    if (how->struct_size != sizeof(*how) || (how->n_inputs && !how->inputs))
        return err_set(err, SBR_E_INVALID, "compare",
                       "struct_size of the comparison is not set, or its inputs are not");
    if (measure_check_request(c->a.req, err) < 0 || measure_check_request(c->b.req, err) < 0 ||
        measure_count(how->repeat, how->warm_up, &c->repeat, err) < 0 || read_checker(c, err) < 0)
        return err->code;
    for (unsigned int i = 0; i < how->warm_up + c->repeat; i++)
        if (run_round(c, i >= how->warm_up, i == 0, err) < 0)
            return err->code;
    conclude(c);
    return 0;
}

static void put_program(struct jsonw *j, const char *key, struct measure *m)
{
    jsonw_open(j, key, '{');
    jsonw_text(j, "program", measure_name(m));
    jsonw_text(j, "language", m->req->language);
    measure_put_json(j, m);
    jsonw_close(j, '}');
}

void comparison_put_json(struct jsonw *j, struct comparison *c)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "verdict", c->verdict);
    jsonw_bool(j, "same_output", !c->differs);
    jsonw_number(j, "inputs", c->n_inputs);
    jsonw_number(j, "different_inputs", c->differs);
    if (c->differs) {
        const char *name = c->inputs[c->different_input].name;

        jsonw_path(j, "first_different_input", name ? name : "");
        jsonw_text(j, "difference", c->difference);
    }
    stats_put(j, "ratio", &c->ratio, 3);
    put_program(j, "a", &c->a);
    put_program(j, "b", &c->b);
    jsonw_close(j, '}');
}

void comparison_done(struct comparison *c)
{
    stats_done(&c->ratios);
    measure_done(&c->a);
    measure_done(&c->b);
}

int sbr_compare_run(sbr_runtime *rt, const sbr_request *a, const sbr_request *b,
                    const sbr_compare *how, char **ret, sbr_error *err)
{
    struct comparison c = { .a = { .req = a }, .b = { .req = b } };
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct jsonw j;
    int r;

    if (!rt || !a || !b || !how || !ret)
        return err_set(e, SBR_E_INVALID, "compare", "an argument is missing");
    r = comparison_run(rt, how, NULL, &c, e);
    if (r == 0) {
        jsonw_init(&j, false);
        comparison_put_json(&j, &c);
        *ret = jsonw_take(&j);
    }
    comparison_done(&c);
    return r < 0 ? r : *ret ? 0 : err_set_oom(e, "compare");
}
