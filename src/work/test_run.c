/* sbr_test_run: the tests of a project, as a call of the library. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "work/test_select.h"
#include "work/tested.h"

#define MOST_RUNS 1000

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

static int find_runner(struct tested_rounds *t, const sbr_test *how, const sbr_request *req,
                       sbr_error *err)
{
    scoped_signs struct signs signs = { .dir_fd = -1 };

    if (signs_open(&signs, req, "test", err) < 0)
        return err->code;
    return test_runner_find(&signs, how->runner, &t->runner, err);
}

/* The request's own arguments come behind the runner's. */
static int prepare(struct tested_rounds *t, const sbr_test *how, sbr_request *req, sbr_error *err)
{
    struct string_list more = { 0 }, further = req->args;
    int r = 0;

    req->args = (struct string_list){ 0 };
    t->tested.stop_fd = how->stop_fd;
    t->tested.installs_nothing = how->installs_nothing;
    if (how->coverage)
        r = test_select_add_coverage(t->runner, req, &more, &t->coverage, err);
    for (size_t i = 0; r == 0 && i < further.n; i++)
        r = string_list_add(&more, further.items[i], err);
    if (r == 0)
        r = tested_prepare(&t->tested, t->runner, req, more.items, err);
    string_list_done(&more);
    string_list_done(&further);
    return r;
}

static int run(struct tested_rounds *t, sbr_runtime *rt, sbr_request *req, sbr_error *err)
{
    for (unsigned int i = 0; i < t->repeat; i++) {
        if (tested_run(&t->tested, rt, req, err) < 0 || tested_add_round(t, err) < 0)
            return err->code;
        if (sbr_result_report(t->tested.result)->verdict == SBR_CANCELLED)
            break;
    }
    return 0;
}

int sbr_test_run(sbr_runtime *rt, sbr_request *req, const sbr_test *how, char **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct tested_rounds t = { 0 };
    int r = 0;

    if (!rt || !req || !how || !ret)
        return err_set(e, SBR_E_INVALID, "test", "an argument is missing");
    t.repeat = how->repeat ? how->repeat : 1;
    if (check(req, how, e) < 0 || find_runner(&t, how, req, e) < 0 ||
        prepare(&t, how, req, e) < 0 || run(&t, rt, req, e) < 0)
        r = e->code;
    if (r == 0 && !(*ret = tested_rounds_to_json(&t)))
        r = err_set_oom(e, "test");
    tested_done(&t.tested);
    test_report_done(&t.report);
    return r;
}
