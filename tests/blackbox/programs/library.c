/* Uses the library as a stranger would: threads, a loop of its own, cancellation.
 *
 * Prints one line per check that failed; exits 0 when there is none.  `library degraded` allows
 * less isolation, for an ordinary user. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sandboxrun.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define RUNS 20
#define JOBS 6

static sbr_runtime *runtime;
static int degraded;
static int failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void complain(const char *what, const char *detail)
{
    pthread_mutex_lock(&lock);
    printf("%s: %s\n", what, detail);
    failures++;
    pthread_mutex_unlock(&lock);
}

/* A shell program that repeats its argument, its variable and its stdin. */
static sbr_request *make_request(const char *mark, const char *code)
{
    const char *argv[] = { mark, NULL };
    sbr_request *req = NULL;
    sbr_error err;

    if (sbr_request_new("sh", NULL, &req, &err) < 0 ||
        sbr_request_add_file(req, "main.sh", code, strlen(code)) < 0 ||
        sbr_request_set_argv(req, argv) < 0 || sbr_request_set_env(req, "MARK", mark) < 0 ||
        sbr_request_set_stdin(req, mark, strlen(mark)) < 0 ||
        sbr_request_set_limit(req, SBR_WALL_MS, 30000) < 0 ||
        sbr_request_allow_degraded(req, degraded) < 0)
        complain("request", "cannot be made");
    return req;
}

static void check_result(const sbr_result *result, const char *mark)
{
    const sbr_report *report = sbr_result_report(result);
    char wanted[200];
    char *json = sbr_result_to_json(result);
    int n = snprintf(wanted, sizeof(wanted), "%s %s %s\n", mark, mark, mark);

    if (report->struct_size < sizeof(sbr_report))
        complain(mark, "the report is too small");
    if (report->verdict != SBR_EXITED || report->exit_code != 3 || report->signal != 0)
        complain(mark, "wrong verdict");
    if (report->out_len != (size_t)n || memcmp(report->out, wanted, report->out_len) != 0)
        complain(mark, "the output is not its own");
    if (report->errout_len != strlen(mark) || memcmp(report->errout, mark, strlen(mark)) != 0)
        complain(mark, "stderr is not its own");
    if (!json || !strstr(json, mark) || !strstr(json, "\"outcome\":\"exited\""))
        complain(mark, "the JSON is not its own");
    free(json);
}

static const char repeat[] = "read x; echo $1 $MARK $x; printf %s $1 >&2; exit 3\n";

static void *run_many(void *number)
{
    for (int i = 0; i < RUNS; i++) {
        char mark[40];
        sbr_request *req;
        sbr_result *result;
        sbr_error err;

        snprintf(mark, sizeof(mark), "thread-%d-run-%d", *(int *)number, i);
        req = make_request(mark, repeat);
        if (sbr_run(runtime, req, &result, &err) < 0) {
            complain(mark, err.message);
        } else {
            check_result(result, mark);
            sbr_result_free(result);
        }
        sbr_request_free(req);
    }
    return NULL;
}

static void many_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run_many, &numbers[i]) != 0)
            complain("thread", "cannot be started");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Waits for the job in a loop of our own; NULL and a complaint when it fails. */
static sbr_result *follow(sbr_job *job, const char *mark)
{
    sbr_result *result = NULL;
    sbr_error err;
    int r = 0;

    while (r == 0) {
        struct pollfd fd = { .fd = sbr_job_fd(job), .events = POLLIN };

        if (poll(&fd, 1, 20000) == 0) {
            complain(mark, "nothing happens");
            return NULL;
        }
        r = sbr_job_dispatch(job, &result, &err);
    }
    if (r < 0)
        complain(mark, err.message);
    return result;
}

static void many_jobs_in_one_loop(void)
{
    sbr_job *jobs[JOBS];
    sbr_request *requests[JOBS];
    char marks[JOBS][40];
    struct pollfd fds[JOBS];
    int left = JOBS;
    sbr_error err;

    for (int i = 0; i < JOBS; i++) {
        snprintf(marks[i], sizeof(marks[i]), "job-%d", i);
        requests[i] = make_request(marks[i], repeat);
        if (sbr_job_start(runtime, requests[i], &jobs[i], &err) < 0) {
            complain(marks[i], err.message);
            return;
        }
        fds[i] = (struct pollfd){ .fd = sbr_job_fd(jobs[i]), .events = POLLIN };
    }
    while (left > 0 && poll(fds, JOBS, 20000) > 0) {
        for (int i = 0; i < JOBS; i++) {
            sbr_result *result = NULL;
            int r = fds[i].revents ? sbr_job_dispatch(jobs[i], &result, &err) : 0;

            if (r == 0)
                continue;
            if (r < 0)
                complain(marks[i], err.message);
            else
                check_result(result, marks[i]);
            sbr_result_free(result);
            sbr_job_free(jobs[i]);
            sbr_request_free(requests[i]);
            fds[i].fd = -1;
            left--;
        }
    }
    if (left > 0)
        complain("jobs", "some did not end");
}

static void *cancel(void *job)
{
    sbr_job_cancel(job);
    return NULL;
}

static void cancel_from_another_thread(void)
{
    sbr_request *req = make_request("cancel", "sleep 1000\n");
    sbr_result *result = NULL;
    pthread_t thread;
    sbr_job *job;
    sbr_error err;

    if (sbr_job_start(runtime, req, &job, &err) < 0) {
        complain("cancel", err.message);
        return;
    }
    pthread_create(&thread, NULL, cancel, job);
    result = follow(job, "cancel");
    pthread_join(thread, NULL);
    if (result && sbr_result_report(result)->verdict != SBR_CANCELLED)
        complain("cancel", "the verdict is not SBR_CANCELLED");
    sbr_result_free(result);
    sbr_job_free(job);
    sbr_request_free(req);
}

static void free_a_job_that_runs(void)
{
    sbr_request *req = make_request("free", "sleep 1000\n");
    sbr_result *result;
    sbr_job *job;
    sbr_error err;

    if (sbr_job_start(runtime, req, &job, &err) < 0) {
        complain("free", err.message);
    } else {
        if (sbr_job_dispatch(job, &result, &err) != 0) /* which begins it */
            complain("free", "it does not run");
        sbr_job_free(job);
    }
    sbr_request_free(req);
}

/* Errors are told, outputs stay untouched, NULL is accepted where it may be. */
static void mistakes(void)
{
    sbr_request *untouched = (sbr_request *)&failures, *req = untouched;
    sbr_result *result = (sbr_result *)&failures;
    sbr_error err = { 0 };

    if (sbr_request_from_json("{\"nonsense\":1}", 14, &req, &err) != SBR_E_INVALID ||
        req != untouched || !strstr(err.message, "nonsense"))
        complain("mistake", "an unknown field was taken");
    if (sbr_request_from_json("[", 1, &req, NULL) != SBR_E_INVALID)
        complain("mistake", "broken JSON was taken");
    if (sbr_request_new("nonsense", NULL, &req, &err) == 0) {
        sbr_request_add_file(req, "x", "", 0);
        sbr_request_allow_degraded(req, degraded);
        if (sbr_run(runtime, req, &result, &err) != SBR_E_NOT_FOUND ||
            result != (sbr_result *)&failures)
            complain("mistake", "an unknown language was run");
        if (sbr_request_add_file(req, "../x", "", 0) != SBR_E_INVALID ||
            sbr_request_set_limit(req, SBR_PIDS, 0) != SBR_E_INVALID ||
            sbr_request_set_env(req, "A=B", "x") != SBR_E_INVALID)
            complain("mistake", "a bad value was taken");
        sbr_request_free(req);
    }
    sbr_request_free(NULL);
    sbr_result_free(NULL);
    sbr_job_free(NULL);
    sbr_runtime_close(NULL);
}

static int count_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += dup2(fd, fd) == fd;
    return n;
}

int main(int argc, char **argv)
{
    char *described;
    sbr_error err;
    sigset_t before, after;
    int descriptors;

    degraded = argc > 1 && !strcmp(argv[1], "degraded");
    if (sbr_version() >> 16 != SBR_VERSION_MAJOR || sbr_runtime_open(NULL, &runtime, &err) < 0)
        return 2;
    described = sbr_runtime_describe(runtime);
    if (!described || !strstr(described, "python"))
        complain("describe", described ? described : "nothing");
    free(described);
    pthread_sigmask(SIG_BLOCK, NULL, &before);

    mistakes();
    free_a_job_that_runs(); /* also opens what the library keeps open */
    descriptors = count_descriptors();
    many_threads();
    many_jobs_in_one_loop();
    cancel_from_another_thread();
    free_a_job_that_runs();
    if (count_descriptors() != descriptors)
        complain("descriptors", "some were left open");
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        complain("children", "some were left behind");
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int number = 1; number < 32; number++)
        if (sigismember(&before, number) != sigismember(&after, number))
            complain("signals", "the mask has changed");
    sbr_runtime_close(runtime);
    return failures != 0;
}
