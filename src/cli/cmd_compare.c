/* compare: the same inputs through two programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/string_list.h"
#include "base/text.h"
#include "cli/measured.h"
#include "cli/present.h"
#include "cli/source.h"
#include "lib/runner.h"
#include "work/cases.h"
#include "work/comparison.h"

struct compare_options {
    struct texts inputs, requests;
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
    { 0, "request", "FILE", "a program as a request in JSON; given twice, instead of two names",
      OPTION_OWN(struct compare_options, requests) },
    { 'l', "lang", "NAME", "language of both programs (default: from the name of each)",
      OPTION_FIELD(lang) },
    { 'd', "dep", "NAME[@VERSION]", "a package that both need; installed once, then kept",
      OPTION_REQUEST(request_add_dep) },
    { 0 },
};
/* clang-format on */

struct compare_call {
    struct options *o;
    const struct compare_options *own;
    sbr_runtime *rt;
    struct measured a, b;
    struct string_list names; /* of the inputs */
    sbr_input *inputs;
    unsigned int repeat, warm_up;
    struct comparison comparison;
};

static int add_input(struct compare_call *c, struct cases *cases, const char *path, sbr_error *err)
{
    sbr_input *grown = reallocarray(c->inputs, c->names.n + 1, sizeof(*c->inputs));
    scoped_free char *name = cases ? text_format("%s/%s", c->own->cases, path) : strdup(path);
    char *data = NULL;
    size_t len = 0;

    if (!grown || !name)
        return err_set_oom(err, "compare");
    c->inputs = grown;
    grown[c->names.n] = (sbr_input){ 0 };
    if (string_list_add(&c->names, name, err) < 0 ||
        (cases ? cases_read(cases, path, &data, &len, err)
               : source_read_path(path, &data, &len, err)) < 0)
        return err->code;
    grown[c->names.n - 1] = (sbr_input){ c->names.items[c->names.n - 1], data, len };
    return 0;
}

static int read_inputs(struct compare_call *c, sbr_error *err)
{
    struct cases cases;
    int r = 0;

    for (size_t i = 0; i < c->own->inputs.n; i++)
        if (add_input(c, NULL, c->own->inputs.items[i], err) < 0)
            return err->code;
    if (c->own->cases) {
        if (cases_load(c->own->cases, c->o->request, &cases, err) < 0)
            return err->code;
        for (size_t i = 0; r == 0 && i < cases.n; i++)
            r = add_input(c, &cases, cases.items[i].input, err);
        cases_done(&cases);
    }
    return r;
}

static int open_program(struct compare_call *c, size_t i, struct measured *ret, sbr_error *err)
{
    struct options o = *c->o;

    if (!c->own->requests.n)
        return measured_open(c->o, &c->o->positional[i], ret, err);
    o.request_path = c->own->requests.items[i];
    return measured_open(&o, NULL, ret, err);
}

static int open_comparison(struct compare_call *c, sbr_error *err)
{
    const struct options *o = c->o;

    if ((c->own->requests.n ? c->own->requests.n : (size_t)o->n_positional) != 2 ||
        (c->own->requests.n && o->n_positional))
        return err_set(err, SBR_E_INVALID, "options",
                       "name two programs, as in `sandbox-run compare old.py new.py`");
    if (measured_count("repeat", c->own->repeat, MEASURE_RUNS, &c->repeat, err) < 0 ||
        measured_count("warm-up", c->own->warm_up, 1, &c->warm_up, err) < 0 ||
        read_inputs(c, err) < 0 || open_program(c, 0, &c->a, err) < 0 ||
        open_program(c, 1, &c->b, err) < 0)
        return err->code;
    return runner_open(RUNNER_LONG, o->cold, &c->rt, err);
}

static int run_all(struct compare_call *c, sbr_error *err)
{
    const struct measure_hooks hooks = { measured_show_failure, c->o };
    const sbr_compare how = { .struct_size = sizeof(how),
                              .inputs = c->inputs,
                              .n_inputs = c->names.n,
                              .repeat = c->repeat,
                              .warm_up = c->warm_up,
                              .checker = c->own->checker,
                              .tolerance = c->own->tolerance };

    c->comparison.a = (struct measure){ .req = c->a.o.request };
    c->comparison.b = (struct measure){ .req = c->b.o.request };
    if (c->o->n_positional) {
        c->comparison.a.program = c->o->positional[0];
        c->comparison.b.program = c->o->positional[1];
    }
    return comparison_run(c->rt, &how, &hooks, &c->comparison, err);
}

static void print_json(struct comparison *c)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    comparison_put_json(&j, c);
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

static void print_text(struct compare_call *call)
{
    struct comparison *c = &call->comparison;
    const char *input = c->differs ? c->inputs[c->different_input].name : NULL;

    printf("A  %s\nB  %s\n\n%-8s %12s         %12s\n", call->a.title, call->b.title, "median", "A",
           "B");
    print_row("wall", &c->a.wall_us, &c->b.wall_us, measured_time);
    print_row("CPU", &c->a.cpu_us, &c->b.cpu_us, measured_time);
    print_row("memory", &c->a.memory_bytes, &c->b.memory_bytes, measured_size);
    putchar('\n');
    if (input) {
        fputs(*input ? "input " : "", stdout);
        present_name(stdout, input);
        printf("%s%s\n", *input ? ": " : "", c->difference);
    }
    printf("%s\n", c->verdict);
}

static void close_comparison(struct compare_call *c)
{
    for (size_t i = 0; i < c->names.n; i++)
        free((void *)(uintptr_t)c->inputs[i].data);
    free(c->inputs);
    string_list_done(&c->names);
    comparison_done(&c->comparison);
    measured_done(&c->a);
    measured_done(&c->b);
    sbr_runtime_close(c->rt);
}

static int compare_run(struct options *o)
{
    struct compare_call c = { .o = o, .own = o->own };
    sbr_error err;
    int status;

    if (open_comparison(&c, &err) < 0 || run_all(&c, &err) < 0) {
        status = cli_fail(o, &err);
    } else {
        if (o->json)
            print_json(&c.comparison);
        else
            print_text(&c);
        status = c.comparison.differs ? 1 : 0;
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
                                               options_look, options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = compare_run,
};
