/* compare: the same inputs through two programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/scope.h"
#include "base/string_list.h"
#include "base/text.h"
#include "cli/measured.h"
#include "cli/present.h"
#include "cli/source.h"
#include "lib/runner.h"
#include "work/cases.h"

struct compare_options {
    struct texts inputs;
    const char *cases, *repeat, *warm_up, *checker, *tolerance;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "input", "FILE", "what both programs read from stdin; can be given more than once",
      OPTION_OWN(struct compare_options, inputs) },
    { 0, "cases", "DIR", "the inputs are DIR/NAME.in", OPTION_OWN(struct compare_options, cases) },
    { 0, "repeat", "N", "measure so many rounds; 10 without it",
      OPTION_OWN(struct compare_options, repeat) },
    { 0, "warm-up", "N", "rounds before, which do not count; 1 without it",
      OPTION_OWN(struct compare_options, warm_up) },
    { 0, "checker", "NAME", "how outputs are compared: exact, tokens or floats; exact without it",
      OPTION_OWN(struct compare_options, checker) },
    { 0, "tolerance", "X", "of the checker floats, absolute or relative; 1e-6 without it",
      OPTION_OWN(struct compare_options, tolerance) },
    { 0 },
};
/* clang-format on */

struct compared_input {
    char *data;
    size_t len;
};

struct comparison {
    const struct options *o;
    const struct compare_options *own;
    sbr_runtime *rt;
    struct measured a, b;
    struct string_list names; /* of the inputs */
    struct compared_input *inputs;
    struct check check;
    unsigned int repeat, warm_up;
    struct samples ratios; /* of the wall times of a round, A / B in thousandths */
    /* The first difference; `differs` 0: none. */
    size_t differs, different_input;
    char difference[CHECK_DIFFERENCE_SIZE + 80];
};

static int add_input(struct comparison *c, const char *path, sbr_error *err)
{
    struct compared_input *grown = reallocarray(c->inputs, c->names.n + 1, sizeof(*c->inputs));

    if (!grown)
        return err_set_oom(err, "compare");
    c->inputs = grown;
    grown[c->names.n] = (struct compared_input){ 0 };
    if (*path && source_read_path(path, &grown[c->names.n].data, &grown[c->names.n].len, err) < 0)
        return err->code;
    return string_list_add(&c->names, path, err);
}

static int read_inputs(struct comparison *c, sbr_error *err)
{
    struct cases cases;
    int r = 0;

    for (size_t i = 0; i < c->own->inputs.n; i++)
        if (add_input(c, c->own->inputs.items[i], err) < 0)
            return err->code;
    if (c->own->cases) {
        if (cases_load(c->own->cases, &cases, err) < 0)
            return err->code;
        for (size_t i = 0; r == 0 && i < cases.n; i++)
            r = add_input(c, cases.items[i].input, err);
        cases_done(&cases);
    }
    return r == 0 && !c->names.n ? add_input(c, "", err) : r;
}

static int read_checker(struct comparison *c, sbr_error *err)
{
    int kind = c->own->checker ? check_kind_from_name(c->own->checker) : CHECK_EXACT;

    c->check = (struct check){ .tolerance = CHECK_TOLERANCE, .expected = "A has", .got = "B" };
    if (kind < 0)
        return err_set(err, SBR_E_INVALID, "checker",
                       "there is no checker '%.60s'; give exact, tokens or floats",
                       c->own->checker);
    c->check.kind = (enum check_kind)kind;
    return c->own->tolerance ? check_parse_tolerance(c->own->tolerance, &c->check.tolerance, err)
                             : 0;
}

static int open_comparison(struct comparison *c, sbr_error *err)
{
    const struct options *o = c->o;

    if (o->n_positional != 2)
        return err_set(err, SBR_E_INVALID, "options",
                       "name two programs, as in `sandbox-run compare old.py new.py`");
    if (measured_count("repeat", c->own->repeat, MEASURED_RUNS, &c->repeat, err) < 0 ||
        measured_count("warm-up", c->own->warm_up, 1, &c->warm_up, err) < 0 ||
        read_checker(c, err) < 0 || read_inputs(c, err) < 0 ||
        measured_open(o, &o->positional[0], &c->a, err) < 0 ||
        measured_open(o, &o->positional[1], &c->b, err) < 0)
        return err->code;
    return runner_open(RUNNER_LONG, o->cold, &c->rt, err);
}

static int run_one(struct comparison *c, struct measured *m, const struct compared_input *input,
                   sbr_result **ret, sbr_error *err)
{
    sbr_request req = *m->o.request; /* borrows all but its stdin */

    if (input->data) {
        req.stdin_data = input->data;
        req.stdin_len = input->len;
    }
    if (sbr_run(c->rt, &req, ret, err) < 0)
        return err->code;
    if ((*ret)->verdict != SBR_COMPILE_FAILED && (*ret)->verdict != SBR_INSTALL_FAILED)
        return 0;
    present_stages(*ret, 0, c->o);
    sbr_result_free(take_ptr(*ret));
    return err_set(err, SBR_E_INVALID, "compare",
                   "'%.200s' cannot be compiled, so nothing is "
                   "compared",
                   m->title);
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

    for (size_t i = 0; r == 0 && i < c->names.n; i++) {
        sbr_result *a = NULL, *b = NULL;

        r = run_one(c, &c->a, &c->inputs[i], &a, err);
        if (r == 0)
            r = run_one(c, &c->b, &c->inputs[i], &b, err);
        if (r == 0 && look)
            compare_results(c, i, a, b);
        if (r == 0 && counts) {
            wall_a += sbr_result_report(a)->wall_us;
            wall_b += sbr_result_report(b)->wall_us;
            r = measured_add(&c->a, a, err) < 0 ? err->code : measured_add(&c->b, b, err);
        }
        sbr_result_free(a);
        sbr_result_free(b);
    }
    if (r == 0 && counts && wall_b)
        r = stats_add(&c->ratios, wall_a * 1000 / wall_b, err);
    return r;
}

/* "B 1.8 x faster, ± 6 %" */
static void speed_words(const struct stats *ratio, char *buf, size_t size)
{
    uint64_t percent = (ratio->spread_permille + 5) / 10;
    uint64_t faster = ratio->median >= 1000 ? ratio->median
                      : ratio->median       ? 1000000 / ratio->median
                                            : 0;

    if (faster <= 1000 + ratio->spread_permille)
        snprintf(buf, size, "as fast as each other, ± %" PRIu64 " %%", percent);
    else
        snprintf(buf, size, "%c %" PRIu64 ".%" PRIu64 " × faster, ± %" PRIu64 " %%",
                 ratio->median >= 1000 ? 'B' : 'A', faster / 1000, faster % 1000 / 100, percent);
}

static void verdict_words(const struct comparison *c, const struct stats *ratio, char *buf,
                          size_t size)
{
    char speed[80];

    speed_words(ratio, speed, sizeof(speed));
    snprintf(buf, size, "%s, %s", c->differs ? "different output" : "same output", speed);
}

static void put_program(struct jsonw *j, const char *key, struct measured *m)
{
    struct stats wall = stats_of(&m->wall_us), cpu = stats_of(&m->cpu_us);
    struct stats memory = stats_of(&m->memory_bytes);

    jsonw_open(j, key, '{');
    jsonw_text(j, "program", m->o.positional[0]);
    jsonw_text(j, "language", m->o.request->language);
    stats_put(j, "wall_ms", &wall, 3);
    stats_put(j, "cpu_ms", &cpu, 3);
    stats_put(j, "peak_memory_bytes", &memory, 0);
    jsonw_close(j, '}');
}

static void print_json(struct comparison *c, const struct stats *ratio, const char *verdict)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "verdict", verdict);
    jsonw_bool(&j, "same_output", !c->differs);
    jsonw_number(&j, "inputs", c->names.n);
    jsonw_number(&j, "different_inputs", c->differs);
    if (c->differs) {
        jsonw_path(&j, "first_different_input", c->names.items[c->different_input]);
        jsonw_text(&j, "difference", c->difference);
    }
    stats_put(&j, "ratio", ratio, 3);
    put_program(&j, "a", &c->a);
    put_program(&j, "b", &c->b);
    jsonw_close(&j, '}');
    present_json(&j);
}

static void print_row(const char *what, struct samples *a, struct samples *b,
                      void (*format)(uint64_t value, char *buf, size_t size))
{
    struct stats one = stats_of(a), two = stats_of(b);
    char first[40], second[40];

    format(one.median, first, sizeof(first));
    format(two.median, second, sizeof(second));
    printf("%-8s %12s ± %2" PRIu64 " %%  %12s ± %2" PRIu64 " %%\n", what, first,
           (one.spread_permille + 5) / 10, second, (two.spread_permille + 5) / 10);
}

static void print_text(struct comparison *c, const char *verdict)
{
    const char *input = c->differs ? c->names.items[c->different_input] : NULL;

    printf("A  %s\nB  %s\n\n%-8s %12s         %12s\n", c->a.title, c->b.title, "median", "A", "B");
    print_row("wall", &c->a.wall_us, &c->b.wall_us, measured_time);
    print_row("CPU", &c->a.cpu_us, &c->b.cpu_us, measured_time);
    print_row("memory", &c->a.memory_bytes, &c->b.memory_bytes, measured_size);
    putchar('\n');
    if (input) {
        fputs(*input ? "input " : "", stdout);
        present_name(stdout, input);
        printf("%s%s\n", *input ? ": " : "", c->difference);
    }
    printf("%s\n", verdict);
}

static int run_all(struct comparison *c, sbr_error *err)
{
    for (unsigned int i = 0; i < c->warm_up + c->repeat; i++)
        if (run_round(c, i >= c->warm_up, i == 0, err) < 0)
            return err->code;
    return 0;
}

static void close_comparison(struct comparison *c)
{
    for (size_t i = 0; i < c->names.n; i++)
        free(c->inputs[i].data);
    free(c->inputs);
    string_list_done(&c->names);
    stats_done(&c->ratios);
    measured_done(&c->a);
    measured_done(&c->b);
    sbr_runtime_close(c->rt);
}

static int compare_run(struct options *o)
{
    struct comparison c = { .o = o, .own = o->own };
    struct stats ratio;
    char verdict[160];
    sbr_error err;
    int status;

    if (open_comparison(&c, &err) < 0 || run_all(&c, &err) < 0) {
        status = cli_fail(o, &err);
    } else {
        ratio = stats_of(&c.ratios);
        verdict_words(&c, &ratio, verdict, sizeof(verdict));
        if (o->json)
            print_json(&c, &ratio, verdict);
        else
            print_text(&c, verdict);
        status = c.differs ? 1 : 0;
    }
    close_comparison(&c);
    return status;
}

const struct command cmd_compare = {
    .name = "compare",
    .usage = "[OPTIONS] A B [-- ARG...]",
    .help = "run two programs with the same inputs: outputs, times, memory",
    .examples =
        "Examples:\n"
        "  sandbox-run compare old.py new.py\n"
        "  sandbox-run compare --input big.txt solve.py solve.cpp\n"
        "  sandbox-run compare --cases tests/ --checker floats --repeat 30 a.c b.rs\n\n"
        "The programs run in turns, one at a time.  The status is 0 when their outputs are the "
        "same,\notherwise 1.\n",
    .own_size = sizeof(struct compare_options),
    .options = (const struct option *const[]){ own_options, options_build, options_language_file,
                                               options_trees, options_network, options_isolation,
                                               options_json, options_max_chars, options_config,
                                               options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = compare_run,
};
