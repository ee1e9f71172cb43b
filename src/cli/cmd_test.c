/* test: the tests of a project, in the sandbox, case by case. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signal_fd.h"
#include "cli/cmd_test.h"
#include "cli/measured.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "config/config_find.h"
#include "lib/runner.h"
#include "work/run_alone.h"
#include "work/test_select.h"
#include "work/tested.h"
#include "work/verify_parts.h"

struct test_options {
    const char *runner, *format, *repeat;
    bool failed, coverage, watch;
};

static const char *format_word(size_t i)
{
    static const char *const words[] = { "text", "json", "junit", "tap" };

    return i < sizeof(words) / sizeof(*words) ? words[i] : NULL;
}

/* clang-format off */
static const struct option own_options[] = {
    { 0, "runner", "NAME", "which runner; without it, the files of the directory decide",
      OPTION_OWN(struct test_options, runner), .word = test_runner_name },
    { 0, "format", "FORM", "what is printed: text, json, junit or tap",
      OPTION_OWN(struct test_options, format), .word = format_word },
    { 0, "repeat", "N", "run the tests so many times, and name the flaky ones",
      OPTION_OWN(struct test_options, repeat) },
    { 0, "failed", NULL, "only the cases that failed last time",
      OPTION_OWN(struct test_options, failed) },
    { 0, "coverage", NULL, "how much of the code ran; for pytest, node and go",
      OPTION_OWN(struct test_options, coverage) },
    { 0, "watch", NULL, "run them again whenever a file changes; Ctrl-C ends it",
      OPTION_OWN(struct test_options, watch) },
    { 0 },
};
/* clang-format on */

struct test_run {
    struct options *o;
    const struct test_options *own;
    sbr_runtime *rt;
    char dir[PATH_MAX]; /* the project */
    struct tested_rounds rounds;
    struct test_runner selected; /* of --failed: the runner with another command */
    struct string_list words, more;
    bool of_file;
    int signal_fd, signal;
};

/* A file by itself: its runner, by its ending and its text. */
static int take_file(struct test_run *t, const char *path, sbr_error *err)
{
    const char *name = strrchr(path, '/');
    scoped_free char *text = NULL;
    size_t len = 0;

    name = name ? name + 1 : path;
    if (source_read_path(path, &text, &len, err) < 0 ||
        request_add_file(t->o->request, name, text, len, err) < 0 ||
        test_runner_for_file(name, text, t->own->runner, &t->rounds.runner, err) < 0 ||
        source_prepare_tests(source_tests_of(name, text), t->o->request, err) < 0)
        return err->code;
    return string_list_add(&t->more, t->o->request->files[0].path, err);
}

/* In a directory without signs of tests the repository around it counts, as for `verify`.  `err`
 * stays what the directory itself lacks. */
static int find_above(struct test_run *t, sbr_error *err)
{
    char top[PATH_MAX];
    scoped_fd int fd = -1;
    sbr_error ignored;

    if (!config_find_repository(t->dir, top) || !strcmp(top, t->dir))
        return err->code;
    fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || test_runner_find(&(struct signs){ .dir_fd = fd }, t->own->runner,
                                   &t->rounds.runner, &ignored) < 0)
        return err->code;
    snprintf(t->dir, sizeof(t->dir), "%s", top);
    if (!t->o->quiet)
        fprintf(stderr, "sandbox-run: the project is the repository around this directory, %s\n",
                top);
    return 0;
}

static int find_project(struct test_run *t, sbr_error *err)
{
    const char *word = t->o->n_positional ? t->o->positional[0] : ".";
    scoped_fd int fd = -1;
    struct stat st;

    if (t->o->n_positional > 1)
        return err_set(err, SBR_E_INVALID, "options",
                       "name one directory or file; what follows `--` goes to the runner");
    if (!realpath(word, t->dir) || stat(t->dir, &st) < 0)
        return err_set_errno(err, "test", "cannot find '%.200s'", word);
    if (S_ISREG(st.st_mode)) {
        t->of_file = true;
        return take_file(t, t->dir, err);
    }
    fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "test", "cannot open '%.200s'", word);
    if (test_runner_find(&(struct signs){ .dir_fd = fd }, t->own->runner, &t->rounds.runner, err) ==
        0)
        return 0;
    return t->o->n_positional ? err->code : find_above(t, err);
}

/* The command of the cases that failed last time. */
static int select_failed(struct test_run *t, sbr_error *err)
{
    struct report last = { 0 };
    int r;

    if (!t->own->failed)
        return 0;
    if (t->of_file)
        return err_set(err, SBR_E_INVALID, "options", "--failed needs the project's directory");
    r = test_memory_load(t->dir, t->rounds.runner->name, &last, err);
    if (r == 0)
        r = test_select_failed(t->rounds.runner, &last, &t->words, err);
    test_report_done(&last);
    t->selected = *t->rounds.runner;
    t->selected.words = (const char *const *)t->words.items;
    t->rounds.runner = &t->selected;
    return r;
}

void cmd_test_installs(const char *package)
{
    fprintf(stderr, "sandbox-run: installing %s\n", package);
}

static int make_request(struct test_run *t, sbr_error *err)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    sbr_request *req = t->o->request;

    if (!req->project && !t->of_file && request_set_project(req, t->dir, err) < 0)
        return err->code;
    if (select_failed(t, err) < 0 ||
        (t->own->coverage &&
         test_select_add_coverage(t->rounds.runner, req, &t->more, &t->rounds.coverage, err) < 0))
        return err->code;
    for (char **word = t->o->rest; word && *word; word++)
        if (string_list_add(&t->more, *word, err) < 0)
            return err->code;
    t->rounds.tested.installs = t->o->quiet ? NULL : cmd_test_installs;
    if (tested_prepare(&t->rounds.tested, t->rounds.runner, req, t->more.items, err) < 0)
        return err->code;
    t->signal_fd = t->rounds.tested.stop_fd = signal_fd_open(numbers, ARRAY_LEN(numbers));
    if (t->signal_fd < 0)
        return err_set_errno(err, "signals", "cannot watch for signals");
    return settings_apply(t->o, err);
}

static int open_runtime(struct test_run *t, sbr_error *err)
{
    enum runner_use use = t->rounds.repeat > 1 || t->own->watch ? RUNNER_LONG : RUNNER_ONCE;

    return runner_open(use, t->o->cold, &t->rt, err);
}

static bool was_stopped(struct test_run *t)
{
    struct signalfd_siginfo info;

    if (!t->signal && read(t->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        t->signal = (int)info.ssi_signo;
    return t->signal;
}

static int run(struct test_run *t, sbr_error *err)
{
    tested_begin_rounds(&t->rounds);
    for (unsigned int i = 0; i < t->rounds.repeat && !was_stopped(t); i++) {
        if (tested_run(&t->rounds.tested, t->rt, t->o->request, err) < 0 ||
            tested_add_round(&t->rounds, err) < 0)
            return err->code;
    }
    if (!was_stopped(t) && sbr_result_report(t->rounds.tested.result)->verdict == SBR_EXITED)
        test_memory_save(t->dir, t->rounds.runner->name, &t->rounds.report);
    return 0;
}

static void show_case(const struct report_case *c)
{
    printf("%-7s %s", test_report_is_flaky(c) ? "flaky" : test_report_outcome_name(c->outcome),
           c->name);
    if (c->timed)
        printf("  %" PRIu64 " ms", c->time_us / 1000);
    if (c->file)
        printf("  %s:%u", c->file, c->line);
    if (c->runs > 1)
        printf("  failed in %u of %u runs", c->failures, c->runs);
    putchar('\n');
    for (const char *line = c->message; line && *line;) {
        size_t len = strcspn(line, "\n");

        printf("        %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    if (c->denial)
        printf("        the sandbox: %s\n", c->denial);
}

/* The stage before the tests that failed: its own words say why. */
static void print_failed_stage(const struct test_run *t)
{
    const sbr_result *whole = t->rounds.tested.result, *part = run_alone_failed_part(whole);

    if (part == whole)
        return;
    terminal_print(stderr, t->o->raw, part->out.data, part->out.len);
    terminal_print(stderr, t->o->raw, part->err.data, part->err.len);
}

/* Failed cases first: they are what one reads. */
static void print_text(const struct test_run *t)
{
    const struct report *r = &t->rounds.report;
    const sbr_report *run = sbr_result_report(t->rounds.tested.result);

    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].outcome == CASE_FAILED || r->cases[i].outcome == CASE_BROKEN)
            show_case(&r->cases[i]);
    for (size_t i = 0; t->o->verbose && i < r->n; i++)
        if (r->cases[i].outcome == CASE_PASSED || r->cases[i].outcome == CASE_SKIPPED)
            show_case(&r->cases[i]);
    if (!r->n || run->verdict != SBR_EXITED) {
        terminal_print(stdout, t->o->raw, run->out, run->out_len);
        terminal_print(stderr, t->o->raw, run->errout, run->errout_len);
        print_failed_stage(t);
        present_result(t->rounds.tested.result, t->o, PRESENT_HELP);
    }
    if (t->rounds.tested.not_installed && !t->o->quiet)
        fprintf(stderr, "sandbox-run: the project's packages could not be installed: %s\n",
                t->rounds.tested.not_installed);
    if (t->rounds.measured)
        printf("coverage: %" PRIu64 ".%" PRIu64 " %%\n", t->rounds.percent / 1000,
               t->rounds.percent / 100 % 10);
    else if (t->rounds.coverage)
        printf("coverage: the runner did not say\n");
    printf("%s: %zu passed, %zu failed, %zu skipped in %" PRIu64 ".%" PRIu64 " s\n",
           t->rounds.runner->name, test_report_count(r, CASE_PASSED),
           test_report_count(r, CASE_FAILED) + test_report_count(r, CASE_BROKEN),
           test_report_count(r, CASE_SKIPPED), run->wall_us / 1000000, run->wall_us / 100000 % 10);
}

static int print_json(const struct test_run *t, sbr_error *err)
{
    scoped_free char *text = tested_rounds_to_json(&t->rounds);

    if (!text)
        return err_set_oom(err, "test");
    puts(text);
    return 0;
}

static int print(const struct test_run *t, sbr_error *err)
{
    const char *format = t->own->format ? t->own->format : t->o->json ? "json" : "text";
    struct buf out;

    if (!strcmp(format, "json"))
        return print_json(t, err);
    if (!strcmp(format, "text")) {
        print_text(t);
        return 0;
    }
    buf_init(&out, SIZE_MAX / 2);
    if (!strcmp(format, "junit"))
        test_report_write_junit(&t->rounds.report, t->rounds.runner->name, &out);
    else
        test_report_write_tap(&t->rounds.report, &out);
    if (!out.failed)
        fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    return 0;
}

static int check_format(const struct test_run *t, sbr_error *err)
{
    if (t->own->watch && t->o->max_chars)
        return err_set(err, SBR_E_INVALID, "options",
                       "--max-chars needs an end of the output, which --watch has not");
    for (size_t i = 0; t->own->format && format_word(i); i++)
        if (!strcmp(t->own->format, format_word(i)))
            return 0;
    return t->own->format
               ? err_set(err, SBR_E_INVALID, "options",
                         "--format '%.40s' is none of text, json, junit and tap", t->own->format)
               : 0;
}

/* 1 when a case failed, or when the runner itself did not succeed. */
static int status_of(struct test_run *t)
{
    return was_stopped(t) ? EXIT_SIGNAL + t->signal : t->rounds.failed ? 1 : 0;
}

/* Changes while the tests run count, too: the watch begins before. */
static int watch(struct test_run *t, sbr_error *err)
{
    bool again = true;

    while (again) {
        scoped_fd int fd = -1;

        if (tree_watch_open(t->dir, &fd, err) < 0 || run(t, err) < 0)
            return err->code;
        if (was_stopped(t))
            break;
        if (print(t, err) < 0)
            return err->code;
        fflush(stdout);
        if (!t->o->quiet)
            fputs("sandbox-run: waiting for changes; Ctrl-C ends\n", stderr);
        again = tree_watch_wait(fd, t->signal_fd);
    }
    return 0;
}

static int work(struct test_run *t, sbr_error *err)
{
    if (t->own->watch)
        return watch(t, err);
    if (run(t, err) < 0)
        return err->code;
    return was_stopped(t) ? 0 : print(t, err);
}

static int run_as(struct options *o, const struct test_options *own)
{
    struct test_run t = { .o = o, .own = own, .signal_fd = -1 };
    sbr_error err;
    int status;

    if (check_format(&t, &err) < 0 ||
        measured_count("repeat", t.own->repeat, t.own->repeat ? 2 : 1, &t.rounds.repeat, &err) <
            0 ||
        find_project(&t, &err) < 0 || make_request(&t, &err) < 0 || open_runtime(&t, &err) < 0 ||
        work(&t, &err) < 0)
        status = cli_fail(o, &err);
    else
        status = status_of(&t);
    tested_done(&t.rounds.tested);
    sbr_runtime_close(t.rt);
    test_report_done(&t.rounds.report);
    string_list_done(&t.words);
    string_list_done(&t.more);
    if (t.signal_fd >= 0)
        close(t.signal_fd);
    return status;
}

static int test_run(struct options *o)
{
    return run_as(o, o->own);
}

int cmd_test_run_file(struct options *o)
{
    static const struct test_options none = { 0 };

    return run_as(o, &none);
}

const struct command cmd_test = {
    .name = "test",
    .usage = "[OPTIONS] [DIR | FILE] [-- ARG...]",
    .help = "run a project's tests in the sandbox and report each case",
    .examples =
        "Examples:\n"
        "  sandbox-run test                     the tests of this directory\n"
        "  sandbox-run test --format junit project/ > report.xml\n"
        "  sandbox-run test --dep requests --timeout 5m . -- -k login\n"
        "  sandbox-run test --repeat 20         which tests fail now and then\n"
        "  sandbox-run test --failed            those of last time again\n\n"
        "A directory named `test` is run as ./test.  The project is copy-on-write: nothing in it "
        "changes.\nThe status is 0 when every case passed or was skipped, otherwise 1.  Limits "
        "that are not\ngiven are larger than below: 10m, 4g of memory, 512 processes, 4g of "
        "disk.\n",
    .own_size = sizeof(struct test_options),
    .options = (const struct option *const[]){ own_options, options_tools, options_trees,
                                               options_network, options_isolation, options_json,
                                               options_max_chars, options_config, options_look,
                                               options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .run = test_run,
};
