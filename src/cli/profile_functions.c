#include "cli/profile_functions.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_replace.h"
#include "base/scope.h"
#include "base/signal_fd.h"
#include "base/tree_remove.h"
#include "cli/measured.h"
#include "cli/source.h"
#include "lib/runner.h"
#include "plan/language.h"

#define SHOWN 20
#define NAME_SIZE 160
#define FOLDER "/tmp/sandbox-run-profile-XXXXXX"

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

static void cancel(void *job)
{
    sbr_job_cancel(job);
}

/* `stop_fd` is readable when a signal came. */
static int run_job(sbr_runtime *rt, const sbr_request *req, int stop_fd, sbr_error *err)
{
    sbr_result *result = NULL;
    sbr_job *job = NULL;
    int r;

    if (sbr_job_start(rt, req, &job, err) < 0)
        return err->code;
    r = runner_watch(job, stop_fd, cancel, job, err);
    if (r == 0)
        r = sbr_job_finish(job, &result, err);
    sbr_result_free(result);
    sbr_job_free(job);
    return r;
}

static int run_once(sbr_runtime *rt, sbr_request *req, const char *folder, int stop_fd,
                    sbr_error *err)
{
    scoped_free char *spec = NULL;

    if (asprintf(&spec, "%s:%s", PROFILE_FILE, folder) < 0)
        return err_set_oom(err, "profile");
    if (request_add_output(req, spec, err) < 0)
        return err->code;
    req->profiled = true;
    return run_job(rt, req, stop_fd, err);
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

/* A signal that came meanwhile ends us here, when nothing is left behind. */
static void let_signals_through(int stop_fd)
{
    sigset_t set;

    close(stop_fd);
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int profile_functions_run(sbr_runtime *rt, sbr_request *req, const char *stacks,
                          struct functions *ret, sbr_error *err)
{
    char folder[] = FOLDER, *text = NULL;
    int stop_fd = signal_fd_open(numbers, ARRAY_LEN(numbers)), r;
    size_t len = 0;

    if (stop_fd < 0)
        return err_set_errno(err, "profile", "cannot wait for signals");
    if (!mkdtemp(folder)) {
        r = err_set_errno(err, "profile", "cannot make a directory for the samples");
    } else {
        r = run_once(rt, req, folder, stop_fd, err);
        if (r == 0)
            r = read_samples(folder, &text, &len, err);
        (void)tree_remove(AT_FDCWD, folder);
    }
    let_signals_through(stop_fd);
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
