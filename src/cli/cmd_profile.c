/* profile: one program, run again and again; and what it used over time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/save.h"
#include "changes/given_trees.h"
#include "cli/measured.h"
#include "cli/present.h"
#include "cli/source.h"
#include "cli/waiting.h"
#include "lib/runner.h"
#include "model/request_save.h"
#include "work/profile.h"

#define PLAIN_COLUMNS 60

struct profile_options {
    const char *repeat, *warm_up, *svg, *input, *stacks;
    bool functions;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "repeat", "N", "measure so many runs; 10 without it",
      OPTION_OWN(struct profile_options, repeat) },
    { 0, "warm-up", "N", "runs before, which do not count; 1 without it",
      OPTION_OWN(struct profile_options, warm_up) },
    { 0, "input", "FILE", "what the program reads from stdin",
      OPTION_OWN(struct profile_options, input) },
    { 0, "svg", "FILE", "write what the last run used over time as a picture",
      OPTION_OWN(struct profile_options, svg) },
    { 0, "functions", NULL, "also say which functions use the time, in languages that can",
      OPTION_OWN(struct profile_options, functions) },
    { 0, "stacks", "FILE", "write the samples of --functions for flame graphs: FRAME;FRAME NUMBER",
      OPTION_OWN(struct profile_options, stacks) },
    { 0 },
};
/* clang-format on */

struct profile_call {
    struct options *o;
    const struct profile_options *own;
    sbr_runtime *rt;
    struct measured program;
    unsigned int repeat, warm_up;
    struct profile profile;
    struct functions functions;   /* of a run more */
    struct save_file svg, stacks; /* opened before the program runs */
};

/* A file or a pipe on our stdin is the program's, as with `run`, and each run gets it anew. */
static int read_stdin(const struct profile_call *p, char **ret, size_t *ret_len, sbr_error *err)
{
    bool is_program = p->o->n_positional && !strcmp(p->o->positional[0], "-");
    struct waiting waiting;
    struct stat st;
    int r;

    if (is_program || p->program.o.request->stdin_data || fstat(STDIN_FILENO, &st) < 0 ||
        (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)))
        return 0;
    waiting_begin(&waiting, "reading what the runs get on stdin (</dev/null: nothing)",
                  p->o->quiet);
    r = fd_read_text(STDIN_FILENO, REQUEST_MAX_BYTES, ret, ret_len, err);
    waiting_end(&waiting);
    return r;
}

static int open_profile(struct profile_call *p, sbr_error *err)
{
    const struct options *o = p->o;
    scoped_free char *input = NULL;
    size_t len = 0;

    if (o->n_positional != (o->code || o->files.n || o->request_path ? 0 : 1) &&
        (o->n_positional || !o->request->project))
        return err_set(err, SBR_E_INVALID, "options",
                       "name one program, as in `sandbox-run profile job.py -- ARG...`");
    if (measured_count("repeat", p->own->repeat, MEASURE_RUNS, &p->repeat, err) < 0 ||
        measured_count("warm-up", p->own->warm_up, 1, &p->warm_up, err) < 0 ||
        measured_open(o, o->n_positional ? &o->positional[0] : NULL, &p->program, err) < 0)
        return err->code;
    if (p->own->input ? source_read_path(p->own->input, &input, &len, err) < 0
                      : read_stdin(p, &input, &len, err) < 0)
        return err->code;
    if (input && request_set_stdin(p->program.o.request, input, len, err) < 0)
        return err->code;
    return runner_open(RUNNER_LONG, o->cold, &p->rt, err);
}

static int open_files(struct profile_call *p, sbr_error *err)
{
    scoped_save_trees struct save_trees trees = { 0 };

    if (p->own->stacks && !p->own->functions)
        return err_set(err, SBR_E_INVALID, "options", "--stacks needs --functions");
    if (request_save_trees(p->program.o.request, &trees, err) < 0 ||
        given_trees_find(NULL, &trees, err) < 0 ||
        (p->own->svg && save_file_open(&p->svg, p->own->svg, &trees, err) < 0))
        return err->code;
    return p->own->stacks ? save_file_open(&p->stacks, p->own->stacks, &trees, err) : 0;
}

static int run_all(struct profile_call *p, sbr_error *err)
{
    const struct measure_hooks hooks = { measured_show_failure, p->o };
    const sbr_profile how = { .struct_size = sizeof(how),
                              .repeat = p->repeat,
                              .warm_up = p->warm_up };

    p->profile.program =
        (struct measure){ .req = p->program.o.request, .program = p->o->positional[0] };
    return profile_run(p->rt, &how, &hooks, &p->profile, err);
}

static void print_row(const char *what, struct samples *samples,
                      void (*format)(uint64_t value, char *buf, size_t size))
{
    struct stats s = stats_of(samples);
    char min[40], median[40], p95[40];

    format(s.min, min, sizeof(min));
    format(s.median, median, sizeof(median));
    format(s.p95, p95, sizeof(p95));
    printf("%-9s %12s %12s %12s %10zu\n", what, min, median, p95, s.outliers);
}

static size_t columns(void)
{
    struct winsize size = { 0 };

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < PLAIN_COLUMNS)
        return PLAIN_COLUMNS;
    return size.ws_col - 30u;
}

static void format_max(enum series_what what, uint64_t max, char *buf, size_t size)
{
    if (what == SERIES_CPU)
        snprintf(buf, size, "%" PRIu64 ".%02" PRIu64, max / 1000, max % 1000 / 10);
    else if (what == SERIES_PROCESSES)
        snprintf(buf, size, "%" PRIu64, max);
    else
        measured_size(max, buf, size);
}

static void print_series(const struct series *series)
{
    char max[40];
    struct buf bars;

    if (!series->n)
        return;
    printf("\nthe last run, in %zu points\n", series->n);
    for (size_t what = 0; what < N_SERIES; what++) {
        buf_init(&bars, 1 << 20);
        series_draw(series, (enum series_what)what, columns(), &bars);
        format_max((enum series_what)what, series_max(series, (enum series_what)what), max,
                   sizeof(max));
        printf("%-9s %s  at most %s%s\n", series_name((enum series_what)what), bars.data, max,
               what == SERIES_IO ? " a second" : "");
        buf_done(&bars);
    }
}

static void print_text(struct profile_call *call)
{
    struct profile *p = &call->profile;

    printf("%s: %u runs, %u succeeded\n\n%-9s %12s %12s %12s %10s\n", call->program.title,
           p->repeat, p->good, "", "min", "median", "p95", "outliers");
    print_row("wall", &p->program.wall_us, measured_time);
    print_row("CPU", &p->program.cpu_us, measured_time);
    print_row("memory", &p->program.memory_bytes, measured_size);
    print_series(&p->series);
    if (call->own->functions)
        profile_functions_print(&call->functions);
}

static void print_json(struct profile_call *call)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    profile_put_fields(&j, &call->profile);
    if (call->own->functions)
        functions_put_json(&j, "functions", &call->functions);
    jsonw_close(&j, '}');
    present_json(&j);
}

static int write_svg(struct profile_call *p, sbr_error *err)
{
    struct buf out;
    int r;

    if (!p->own->svg)
        return 0;
    buf_init(&out, 64 << 20);
    series_write_svg(&p->profile.series, p->program.title, &out);
    r = out.failed ? err_set_oom(err, "profile") : save_file_write(&p->svg, out.data, out.len, err);
    buf_done(&out);
    return r;
}

static int sample_functions(struct profile_call *p, sbr_error *err)
{
    return p->own->functions
               ? profile_functions_run(p->rt, p->program.o.request,
                                       p->own->stacks ? &p->stacks : NULL, &p->functions, err)
               : 0;
}

static int profile_command(struct options *o)
{
    struct profile_call p = {
        .o = o, .own = o->own, .svg = SAVE_FILE_NONE, .stacks = SAVE_FILE_NONE
    };
    sbr_error err;
    int status;

    if (open_profile(&p, &err) < 0 || open_files(&p, &err) < 0 || run_all(&p, &err) < 0 ||
        write_svg(&p, &err) < 0 || sample_functions(&p, &err) < 0) {
        status = cli_fail(o, &err);
    } else {
        if (o->json)
            print_json(&p);
        else
            print_text(&p);
        status = p.profile.good == p.profile.repeat ? 0 : 1;
    }
    save_file_done(&p.svg);
    save_file_done(&p.stacks);
    profile_done(&p.profile);
    functions_done(&p.functions);
    measured_done(&p.program);
    sbr_runtime_close(p.rt);
    return status;
}

const struct command cmd_profile = {
    .name = "profile",
    .usage = "[OPTIONS] PROGRAM [-- ARG...]",
    .help = "run a program again and again: times, memory, and use over time",
    .examples = "Examples:\n"
                "  sandbox-run profile job.py\n"
                "  sandbox-run profile --repeat 50 --input data.txt solve.cpp\n"
                "  sandbox-run profile --dep numpy --lang python --code 'import numpy'\n"
                "  sandbox-run profile --svg use.svg --json job.py\n"
                "  sandbox-run profile --functions --stacks job.folded job.py\n\n"
                "The status is 0 when every run succeeded, otherwise 1.\n",
    .own_size = sizeof(struct profile_options),
    .options = (const struct option *const[]){ own_options, options_program, options_build,
                                               options_language_file, options_trees,
                                               options_network, options_isolation, options_json,
                                               options_max_chars, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = profile_command,
};
