/* The checks of a verification, one after the other. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/text.h"
#include "plan/language.h"
#include "work/golden.h"
#include "work/run_alone.h"
#include "work/verify_parts.h"
#include "work/verify_tool.h"

/* The checks of these languages want a program: a part of a package is only parsed, and a library
 * is compiled as one. */
static const struct {
    struct test_runner runner;
    const char *programs[2]; /* what programs have */
} parts[] = {
    { { .name = "gofmt",
        .language = "go",
        .words = (const char *const[]){ "gofmt", "-e", "-l", NULL },
        .where = REPORT_ON_STDOUT },
      { "func main(", "func Test" } },
    { { .name = "rustc",
        .language = "rust",
        .words = (const char *const[]){ "rustc", "--edition", "2021", "--crate-type", "lib",
                                        "--emit=metadata", "--out-dir", "/tmp", NULL },
        .where = REPORT_ON_STDERR },
      { "fn main(", "#![no_main]" } },
};

/* NULL: the file is a program. */
static const struct test_runner *part_of(const struct verify_file *file)
{
    for (size_t i = 0; file->data && i < ARRAY_LEN(parts); i++) {
        bool is_program = false;

        if (strcmp(parts[i].runner.language, file->language->name) != 0)
            continue;
        for (size_t k = 0; k < ARRAY_LEN(parts[i].programs); k++)
            is_program |= memmem(file->data, file->len, parts[i].programs[k],
                                 strlen(parts[i].programs[k])) != NULL;
        return is_program ? NULL : &parts[i].runner;
    }
    return NULL;
}

/* A script is read by itself, and its check would take the files beside it, too; a compiler has to
 * find what the code includes. */
static int syntax_request(struct verification *v, struct verify_file *file, sbr_request **ret,
                          sbr_error *err)
{
    if (verify_load(v, file, err) < 0)
        return err->code;
    return file->language->compile.run.n ? verify_request(v, file, ret, err)
                                         : verify_request_alone(v, file, ret, err);
}

static int check_syntax(struct verification *v, struct verify_file *file, sbr_error *err)
{
    struct verify_step *step = verify_step_add(v, "syntax", file->language->name, file->path, err);
    char *more[] = { file->path, NULL };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r;

    if (!step || syntax_request(v, file, &req, err) < 0)
        return err->code;
    if (part_of(file)) {
        r = verify_step_run(v, step, req, part_of(file), more, err);
    } else {
        req->check = true;
        r = run_alone(v->rt, req, v->how->stop_fd, &result, err);
        if (r == 0)
            verify_step_end(step, result,
                            result->verdict == SBR_EXITED &&
                                run_alone_failed_part(result)->exit_code == 0);
    }
    sbr_result_free(result);
    request_free(req);
    return r == 0 ? verify_go_on(v, err) : r;
}

static bool has_check(const struct language *language)
{
    return language->check.run.n || language->compile.run.n;
}

static int check_all_syntax(struct verification *v, sbr_error *err)
{
    for (size_t i = 0; i < v->n_files; i++) {
        struct verify_file *file = &v->files[i];

        if (file->is_checked && file->language && has_check(file->language) &&
            check_syntax(v, file, err) < 0)
            return err->code;
    }
    return 0;
}

/* The files that the tool is for; NULL without memory.  The caller frees the array alone. */
static char **files_for(const struct verification *v, const struct verify_tool *tool, size_t *ret_n)
{
    char **words = calloc(v->n_files + 2, sizeof(*words));

    *ret_n = 0;
    for (size_t i = 0; words && i < v->n_files; i++)
        if (v->files[i].is_checked && verify_tool_takes(tool, v->files[i].path))
            words[(*ret_n)++] = v->files[i].path;
    return words;
}

static int run_tool(struct verification *v, const struct verify_tool *tool, sbr_error *err)
{
    static char everything[] = ".";
    bool whole = true;
    size_t n;
    scoped_free char **files = files_for(v, tool, &n);
    struct verify_step *step;
    sbr_request *req = NULL;
    int r;

    for (size_t i = 0; i < v->n_files; i++)
        whole = whole && !v->files[i].is_checked;
    if (!files)
        return err_set_oom(err, "verify");
    if (!whole && !n)
        return 0;
    if (whole)
        files[0] = everything;
    step = verify_step_add(v, tool->check, tool->runner.name, NULL, err);
    if (!step || verify_request(v, NULL, &req, err) < 0)
        return err->code;
    r = verify_step_run(v, step, req, &tool->runner, tool->takes_files ? files : NULL, err);
    request_free(req);
    return r;
}

static struct signs signs_of(struct verification *v)
{
    return (struct signs){ .dir_fd = v->tree.fd,
                           .req = v->base,
                           .rules = v->tree.fd >= 0 ? &v->tree.rules : NULL };
}

static int run_tools(struct verification *v, sbr_error *err)
{
    const struct signs project = signs_of(v);
    const struct verify_tool *tool;
    size_t i = 0;

    while ((tool = verify_tool_next(&project, &i)))
        if (!verify_skips(v, tool->check) && run_tool(v, tool, err) < 0)
            return err->code;
    return 0;
}

/* 1: the project has tests, and they ran. */
static int run_tests(struct verification *v, sbr_error *err)
{
    const struct signs project = signs_of(v);
    const struct test_runner *runner;
    struct verify_step *step;
    sbr_request *req = NULL;
    sbr_error none;
    int r;

    if (verify_skips(v, "tests") || test_runner_find(&project, NULL, &runner, &none) < 0)
        return 0;
    step = verify_step_add(v, "tests", runner->name, NULL, err);
    if (!step || verify_request(v, NULL, &req, err) < 0)
        return err->code;
    r = verify_step_run(v, step, req, runner, NULL, err);
    request_free(req);
    return r < 0 ? r : 1;
}

/* A project's golden cases are in its directory `golden`, with a command there or in each case. */
static int run_golden(struct verification *v, sbr_error *err)
{
    const struct signs cases = { .dir_fd = project_file_open_dir(v->tree.fd, "golden") };
    bool found = cases.dir_fd >= 0 && !verify_skips(v, "golden") &&
                 signs_have(&cases, SIGNS_BELOW, "command", "");
    scoped_free char *dir = found ? text_format("%s/golden", v->base->project) : NULL;
    const sbr_golden how = {
        .struct_size = sizeof(how), .dir = dir, .jobs = v->how->jobs, .stop_fd = v->how->stop_fd
    };
    uint64_t began = clock_now_us();
    struct golden golden = { 0 };
    struct verify_step *step;
    sbr_request *req = NULL;
    int r;

    if (cases.dir_fd >= 0)
        close(cases.dir_fd);
    if (!found)
        return 0;
    step = dir ? verify_step_add(v, "golden", NULL, NULL, err) : NULL;
    if (!step || verify_request(v, NULL, &req, err) < 0)
        return dir ? err->code : err_set_oom(err, "verify");
    r = golden_run(v->rt, req, &how, &golden, err);
    request_free(req);
    step->wall_us = clock_now_us() - began;
    step->report = golden.report;
    golden.report = (struct report){ 0 };
    verify_step_end_cases(step, r == 0 ? NULL : err->message);
    golden_done(&golden);
    return verify_go_on(v, err);
}

static bool all_passed(const struct verification *v)
{
    for (size_t i = 0; i < v->n_steps; i++)
        if (v->steps[i].outcome != VERIFY_PASSED)
            return false;
    return true;
}

static struct verify_step *skip(struct verification *v, const char *check, const char *file,
                                const char *reason, sbr_error *err)
{
    struct verify_step *step = verify_step_add(v, check, NULL, file, err);

    if (step) {
        step->outcome = VERIFY_SKIPPED;
        step->reason = strdup(reason);
    }
    return step;
}

int verify_run_steps(struct verification *v, sbr_error *err)
{
    int tested;

    if (!verify_skips(v, "syntax") && check_all_syntax(v, err) < 0)
        return err->code;
    if (!all_passed(v)) /* nothing else could say more about code that cannot be read */
        return skip(v, "tests", NULL, "not run, because the syntax is wrong", err) ? 0 : err->code;
    if (run_tools(v, err) < 0)
        return err->code;
    tested = run_tests(v, err);
    if (tested < 0 || (v->tree.fd >= 0 && run_golden(v, err) < 0))
        return err->code;
    return verify_run_code(v, tested > 0, err);
}
