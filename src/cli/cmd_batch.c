/* batch: many requests, or one program with many inputs. */
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"

/* clang-format off */
static const struct option own_options[] = {
    { 0, "jobs", "N", "run so many at a time; without it, as many as there are processors",
      OPTION_OWN(struct batch_options, jobs) },
    { 0, "results", "FILE",
      "add each result to FILE when it is there; what FILE has already is not run again",
      OPTION_OWN(struct batch_options, results) },
    { 0, "as-completed", NULL, "print results when they are there, not in the order of the input",
      OPTION_OWN(struct batch_options, as_completed) },
    { 0, "cases", "DIR", "run one program with each DIR/NAME.in, and compare with NAME.out",
      OPTION_OWN(struct batch_options, cases) },
    { 0, "checker", "NAME",
      "how outputs are compared: tokens, exact, floats, or a program FILE (input expected output)",
      OPTION_OWN(struct batch_options, checker) },
    { 0, "tolerance", "X", "of the checker floats, absolute or relative; 1e-6 without it",
      OPTION_OWN(struct batch_options, tolerance) },
    { 0, "stop", NULL, "begin no further case after the first that fails",
      OPTION_OWN(struct batch_options, stop) },
    { 0 },
};
/* clang-format on */

/* Programs cannot forge it: quotes in what they print are escaped in JSON, and the text of cases
 * has their names and our words alone. */
static bool is_good_line(const char *line, size_t len)
{
    static const char *const signs[] = { "\"verdict\":\"accepted\"",
                                         "\"outcome\":\"exited\",\"exit_code\":0,",
                                         "  accepted  " };
    bool of_case = memmem(line, len, "\"verdict\":", 10);

    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if ((i != 1 || !of_case) && memmem(line, len, signs[i], strlen(signs[i])))
            return true;
    return false;
}

static int batch_run(struct options *o)
{
    struct batch_front front = { .o = o, .own = o->own, .signal_fd = -1 };
    int status = front.own->cases ? batch_run_cases(&front) : batch_run_requests(&front);

    if (front.signal_fd >= 0)
        close(front.signal_fd);
    return status;
}

const struct command cmd_batch = {
    .name = "batch",
    .usage = "[OPTIONS] FILE.jsonl | DIR | -    or    batch --cases DIR PROGRAM [ARG...]",
    .help = "run many requests, or one program with many inputs",
    .examples =
        "Examples:\n"
        "  sandbox-run batch requests.jsonl             a request in JSON on each line\n"
        "  sandbox-run batch --jobs 4 programs/         every program of a directory\n"
        "  sandbox-run batch --results out.jsonl requests.jsonl    again after a kill: it goes on\n"
        "  sandbox-run batch --cases tests/ solve.cpp   tests/01.in, compared with tests/01.out\n"
        "  sandbox-run batch --cases tests/ --checker floats --timeout 2s solve.py\n\n"
        "Results are lines of JSON on stdout: docs/result.md, with the fields `item`, `request` "
        "and `name` in front.\n"
        "The status is 0 when all succeeded, otherwise 1.\n",
    .own_size = sizeof(struct batch_options),
    .options = (const struct option *const[]){ own_options, options_program, options_build,
                                               options_language_file, options_trees,
                                               options_network, options_isolation, options_json,
                                               options_max_chars, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .arguments = true,
    .good_line = is_good_line,
    .run = batch_run,
};
