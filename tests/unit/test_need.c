/* How much a request may use at most: the stage that needs most, and what it may leave. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/need.h"
#include "job/job_types.h"
#include "plan/language.h"
#include "unit.h"

static sbr_request *make_request(const char *language)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new(language, NULL, &req, &err), 0);
    assert_int_equal(limits_set(&req->limits, SBR_MEMORY_BYTES, 64 * MIB, &err), 0);
    assert_int_equal(limits_set(&req->limits, SBR_DISK_BYTES, MIB, &err), 0);
    return req;
}

static void set_limit(struct limits *limits, enum sbr_limit which, uint64_t value)
{
    sbr_error err;

    if (value)
        assert_int_equal(limits_set(limits, which, value, &err), 0);
}

/* Compilers of C may use 2 GiB, installers of Python's packages 4 GiB. */
static void a_run_needs_what_its_largest_stage_does(void **state)
{
    static const struct {
        const char *language, *dep, *file, *content;
        bool check, command, kernel, installs_nothing;
        uint64_t compile, ceiling; /* limits of memory; 0: none */
        uint64_t memory;
    } rows[] = {
        { .language = "python", .memory = 64 * MIB },
        { .language = NULL, .memory = 64 * MIB },
        { .language = "no-such", .memory = 64 * MIB },
        { .language = "c", .memory = 2048 * MIB },
        { .language = "c", .command = true, .memory = 64 * MIB },
        { .language = "c", .kernel = true, .memory = 64 * MIB },
        { .language = "c", .compile = 100 * MIB, .memory = 100 * MIB },
        { .language = "c", .compile = 32 * MIB, .memory = 64 * MIB },
        { .language = "c", .ceiling = 500 * MIB, .memory = 500 * MIB },
        { .language = "c", .check = true, .command = true, .memory = 2048 * MIB },
        { .language = "python", .dep = "six", .memory = 4096 * MIB },
        { .language = "python", .dep = "six", .ceiling = 100 * MIB, .memory = 100 * MIB },
        { .language = "python", .dep = "six", .installs_nothing = true, .memory = 64 * MIB },
        { .language = "python",
          .file = "requirements.txt",
          .content = "six",
          .memory = 4096 * MIB },
        { .language = "python",
          .file = "requirements.txt",
          .content = "six",
          .installs_nothing = true,
          .memory = 64 * MIB },
        { .language = "python", .file = "other.txt", .content = "six", .memory = 64 * MIB },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_request *req = make_request(rows[i].language);
        sbr_error err;

        req->check = rows[i].check;
        req->command = rows[i].command;
        req->kernel = rows[i].kernel;
        req->installs_nothing = rows[i].installs_nothing;
        set_limit(&req->compile_limits, SBR_MEMORY_BYTES, rows[i].compile);
        set_limit(&req->ceilings, SBR_MEMORY_BYTES, rows[i].ceiling);
        if (rows[i].dep)
            assert_int_equal(request_add_dep(req, rows[i].dep, &err), 0);
        if (rows[i].file)
            assert_int_equal(request_add_file(req, rows[i].file, rows[i].content,
                                              strlen(rows[i].content), &err),
                             0);
        if (need_of_run(req).memory != rows[i].memory)
            fail_msg("row %zu: %llu", i, (unsigned long long)need_of_run(req).memory);
        request_free(req);
    }
}

static void a_run_needs_the_disk_that_it_may_leave(void **state)
{
    static const struct {
        bool keep, workspace, keep_output;
        uint64_t disk;
    } rows[] = {
        { false, false, false, 0 },         { true, false, false, MIB },
        { false, true, false, MIB },        { true, true, false, MIB },
        { false, false, true, 1024 * MIB }, { true, false, true, 1025 * MIB },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_request *req = make_request("python");
        struct need need;
        sbr_error err;

        req->keep = rows[i].keep;
        req->keep_output = rows[i].keep_output;
        if (rows[i].workspace)
            assert_int_equal(request_set_workspace(req, "w", &err), 0);
        need = need_of_run(req);
        assert_int_equal(need.disk, rows[i].disk);
        assert_int_equal(need.runs, 1);
        assert_int_equal(need.sessions + need.agents + need.starts, 0);
        need = need_of_session(req);
        assert_int_equal(need.disk, rows[i].disk);
        assert_int_equal(need.memory, 64 * MIB);
        assert_int_equal(need.sessions, 1);
        assert_int_equal(need.runs + need.agents + need.starts, 0);
        request_free(req);
    }
}

/* Its files may be of any language: the largest stage of all, unless a ceiling is lower. */
static void work_needs_what_any_language_may(void **state)
{
    sbr_request *req = make_request(NULL);
    struct limits limits = req->limits;
    struct need need;
    sbr_error err;

    (void)state;
    assert_true(need_memory_of_any(req) >= 4096 * MIB);
    need = need_of_work(req, &limits, 0);
    assert_int_equal(need.memory, need_memory_of_any(req));
    assert_int_equal(need.disk, 0);
    assert_int_equal(need.runs, 1);
    set_limit(&req->ceilings, SBR_MEMORY_BYTES, 100 * MIB);
    assert_int_equal(need_of_work(req, &limits, 3).memory, 100 * MIB);
    assert_int_equal(need_of_work(req, &limits, 3).disk, 3 * MIB);
    set_limit(&limits, SBR_MEMORY_BYTES, 101 * MIB);
    assert_int_equal(need_of_work(req, &limits, 3).memory, 101 * MIB);
    req->keep = true;
    assert_int_equal(need_of_work(req, &limits, 0).disk, MIB);
    assert_int_equal(request_set_workspace(req, "w", &err), 0);
    assert_int_equal(need_of_work(req, &limits, 3).disk, MIB);
    request_free(req);
}

static void a_job_needs_what_its_later_stages_do(void **state)
{
    sbr_request *req = make_request("c");
    sbr_job *job = calloc(1, sizeof(*job));

    (void)state;
    assert_non_null(job);
    job->req = req;
    job->language = language_find("c");
    job->todo[0] = STAGE_COMPILE;
    job->todo[1] = STAGE_RUN;
    job->n_todo = 2;
    assert_int_equal(need_memory_left(job), 2048 * MIB);
    job->at = 1;
    assert_int_equal(need_memory_left(job), 64 * MIB);
    job->at = 2;
    assert_int_equal(need_memory_left(job), 0);
    free(job);
    request_free(req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_needs_what_its_largest_stage_does),
        cmocka_unit_test(a_run_needs_the_disk_that_it_may_leave),
        cmocka_unit_test(work_needs_what_any_language_may),
        cmocka_unit_test(a_job_needs_what_its_later_stages_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
