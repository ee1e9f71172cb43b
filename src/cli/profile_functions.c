#include "cli/profile_functions.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_replace.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "cli/measured.h"
#include "cli/source.h"
#include "lib/runner.h"
#include "plan/language.h"

#define SHOWN 20
#define NAME_SIZE 160
#define FOLDER "/tmp/sandbox-run-profile-XXXXXX"

static int run_once(sbr_runtime *rt, sbr_request *req, const char *folder, sbr_error *err)
{
    scoped_free char *spec = NULL;
    sbr_result *result = NULL;
    int r;

    if (asprintf(&spec, "%s:%s", PROFILE_FILE, folder) < 0)
        return err_set_oom(err, "profile");
    if (request_add_output(req, spec, err) < 0)
        return err->code;
    req->profiled = true;
    r = sbr_run(rt, req, &result, err);
    sbr_result_free(result);
    return r;
}

static int read_samples(const char *folder, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_free char *path = NULL;

    if (asprintf(&path, "%s/%s", folder, PROFILE_FILE) < 0)
        return err_set_oom(err, "profile");
    if (access(path, F_OK) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "profile",
                       "--functions: the program was ended before it could leave its samples; "
                       "give it more time with --timeout");
    return source_read_path(path, ret, ret_len, err);
}

int profile_functions_run(sbr_runtime *rt, sbr_request *req, const char *stacks,
                          struct functions *ret, sbr_error *err)
{
    char folder[] = FOLDER, *text = NULL;
    size_t len = 0;
    int r;

    if (!mkdtemp(folder))
        return err_set_errno(err, "profile", "cannot make a directory for the samples");
    r = run_once(rt, req, folder, err);
    if (r == 0)
        r = read_samples(folder, &text, &len, err);
    (void)tree_remove(AT_FDCWD, folder);
    if (r == 0 && stacks)
        r = file_replace(stacks, text, len, err);
    if (r < 0) {
        free(text);
        return r;
    }
    return functions_read(text, len, ret, err);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

void profile_functions_print(const struct functions *f)
{
    char name[NAME_SIZE], sum[40];

    measured_time(f->sum_us, sum, sizeof(sum));
    printf("\nfunctions, by samples of %s%s\n%8s %8s\n", sum, f->cut ? " and more" : "", "self",
           "total");
    for (size_t i = 0; i < f->n && i < SHOWN; i++) {
        functions_name(&f->uses[i], name, sizeof(name));
        printf("%6.1f %% %6.1f %%  %s\n", percent(f->uses[i].self_us, f->sum_us),
               percent(f->uses[i].total_us, f->sum_us), name);
    }
    if (f->n > SHOWN)
        printf("%19s%zu more; --json has them\n", "", f->n - SHOWN);
}
