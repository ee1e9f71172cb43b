/* sbr_test_run: the tests of a project, as a call of the library. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "work/test_select.h"
#include "work/tested.h"

#define MOST_RUNS 1000

struct test_call {
    const sbr_test *how;
    const struct test_runner *runner;
    const struct test_coverage *coverage; /* NULL: not asked for */
    struct tested tested;
    struct report report; /* of all runs */
    unsigned int repeat;
    uint64_t percent;
    bool measured;
};

static int check(const sbr_request *req, const sbr_test *how, sbr_error *err)
{
    if (how->struct_size != sizeof(*how))
        return err_set(err, SBR_E_INVALID, "test", "struct_size of the test is not set");
    if (how->repeat > MOST_RUNS)
        return err_set(err, SBR_E_INVALID, "test", "tests run at most %d times in one call",
                       MOST_RUNS);
    if (req->workspace && !how->runner)
        return err_set(err, SBR_E_INVALID, "test",
                       "what a workspace has is not looked at; name its runner, as in pytest");
    return 0;
}

static int find_runner(struct test_call *t, const sbr_request *req, sbr_error *err)
{
    scoped_fd int fd = -1;
    struct signs signs = { .dir_fd = -1, .req = req };

    if (req->project) {
        fd = open(req->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return err_set_errno(err, "test", "cannot open '%.200s'", req->project);
        signs.dir_fd = fd;
    }
    return test_runner_find(&signs, t->how->runner, &t->runner, err);
}

/* The request's own arguments come behind the runner's. */
static int prepare(struct test_call *t, sbr_request *req, sbr_error *err)
{
    struct string_list more = { 0 }, further = req->args;
    int r = 0;

    req->args = (struct string_list){ 0 };
    t->tested.stop_fd = t->how->stop_fd;
    t->tested.installs_nothing = t->how->installs_nothing;
    if (t->how->coverage)
        r = test_select_add_coverage(t->runner, req, &more, &t->coverage, err);
    for (size_t i = 0; r == 0 && i < further.n; i++)
        r = string_list_add(&more, further.items[i], err);
    if (r == 0)
        r = tested_prepare(&t->tested, t->runner, req, more.items, err);
    string_list_done(&more);
    string_list_done(&further);
    return r;
}

static int run(struct test_call *t, sbr_runtime *rt, sbr_request *req, sbr_error *err)
{
    for (unsigned int i = 0; i < t->repeat; i++) {
        const sbr_report *report;

        if (tested_run(&t->tested, rt, req, err) < 0 ||
            test_report_merge(&t->report, &t->tested.report, err) < 0)
            return err->code;
        report = sbr_result_report(t->tested.result);
        if (t->coverage)
            t->measured |=
                test_select_percent(t->coverage, report->out, report->out_len, &t->percent);
        if (report->verdict == SBR_CANCELLED)
            break;
    }
    return 0;
}

static int put(const struct test_call *t, char **ret, sbr_error *err)
{
    const struct tested_summary summary = { .runner = t->runner->name,
                                            .report = &t->report,
                                            .repeat = t->repeat,
                                            .covers = t->coverage != NULL,
                                            .measured = t->measured,
                                            .percent = t->percent };

    *ret = tested_to_json(&summary, t->tested.result);
    return *ret ? 0 : err_set_oom(err, "test");
}

int sbr_test_run(sbr_runtime *rt, sbr_request *req, const sbr_test *how, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct test_call t = { .how = how };
    int r = 0;

    if (!rt || !req || !how || !ret)
        return err_set(e, SBR_E_INVALID, "test", "an argument is missing");
    t.repeat = how->repeat ? how->repeat : 1;
    if (check(req, how, e) < 0 || find_runner(&t, req, e) < 0 || prepare(&t, req, e) < 0 ||
        run(&t, rt, req, e) < 0 || put(&t, ret, e) < 0)
        r = e->code;
    tested_done(&t.tested);
    test_report_done(&t.report);
    return r;
}
