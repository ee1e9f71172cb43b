#include <stdio.h>

#include "cli/cli.h"
#include "cli/documents.h"
#include "cli/source.h"

static int run_run(struct options *o)
{
    enum source_tests tests;
    struct source source;
    sbr_error err;

    if (source_is_notebook(o))
        return o->documents->run_notebook(o);
    if (o->update) {
        err_set(&err, SBR_E_INVALID, "options", "--update needs a notebook, a file named .ipynb");
        return cli_fail(o, &err);
    }
    if (o->display)
        return o->documents->run_display(o);
    tests = source_find_tests(o);
    if (tests != SOURCE_NO_TESTS && !o->quiet)
        fprintf(stderr, "sandbox-run: this file has tests and no main; running them as tests\n");
    if (tests == SOURCE_TESTS_OF_RUNNER)
        return o->documents->run_tests(o);
    if (source_load(o, &source, &err) < 0 || source_prepare_tests(tests, o->request, &err) < 0)
        return cli_fail(o, &err);
    return start_request(o, source.title, source.from_stdin);
}

const struct command cmd_run = {
    .name = "run",
    .usage = "[OPTIONS] [FILE | DIR | -] [ARG...] [-- ARG...]",
    .help = "run a program; `run` itself may be left out",
    .examples =
        "Examples:\n"
        "  sandbox-run hello.py first second\n"
        "  sandbox-run hello.py -- --fast first          options of the program come after --\n"
        "  sandbox-run -l python -c 'import sys; print(sys.stdin.read())' < data.txt\n"
        "  sandbox-run --json --timeout 2s --memory 128m job.py\n"
        "  sandbox-run project/                 a directory with a main file\n"
        "  sandbox-run --project . --diff tools/clean.sh    what would it change?  nothing is "
        "touched\n"
        "  sandbox-run --project . --keep fix.py            and keep it, for `sandbox-run apply`\n"
        "  sandbox-run --output 'plots/*.png:.' plot.py     results, copied out\n"
        "  sandbox-run --dep requests job.py    with a package; installed once\n"
        "  sandbox-run --allow-host example.org:443 --allow-host '*.example.net' fetch.py\n"
        "  sandbox-run --check app.ts           the type checker, nothing is run\n"
        "  sandbox-run --update work.ipynb      the cells of a notebook, and their outputs into "
        "it\n"
        "  sandbox-run --display -l python -c '[n * n for n in range(9)]'   the last value, shown\n"
        "  #!/usr/bin/env -S sandbox-run --lang python --\n",
    .options =
        (const struct option *const[]){
            options_program, options_build, options_language_file, options_notebook, options_stdin,
            options_trees, options_network, options_isolation, options_json, options_stream,
            options_output, options_config, options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .arguments = true,
    .run = run_run,
};
