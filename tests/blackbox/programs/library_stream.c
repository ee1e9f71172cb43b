/* Uses what the library offers while a program runs, as a stranger would.
 *
 * Usage: library_stream CASE [degraded].  Prints one line per check that failed; exits 0 when there
 * is none.  `copy` prints the program's streams as they come, for comparisons. */
#include <poll.h>
#include <pthread.h>
#include <sandboxrun.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

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

static void check(int holds, const char *what)
{
    if (!holds)
        complain(what, "does not hold");
}

/* What one job has shown so far. */
struct seen {
    sbr_job *job;
    char out[4096], err[4096];
    size_t out_len, err_len;
    uint64_t out_total;
    int stages, denials, metrics, rooms, queued;
    char stage[32], target[300];
    sbr_metrics last;
    const char *answer; /* written to stdin when the first line was seen */
    size_t to_write, written;
    int write_result;
};

static void saw_output(void *context, int stream, const char *data, size_t len)
{
    struct seen *seen = context;
    char *to = stream == SBR_STDOUT ? seen->out : seen->err;
    size_t *used = stream == SBR_STDOUT ? &seen->out_len : &seen->err_len;
    size_t part = len < sizeof(seen->out) - 1 - *used ? len : sizeof(seen->out) - 1 - *used;

    memcpy(to + *used, data, part);
    *used += part;
    seen->out_total += stream == SBR_STDOUT ? len : 0;
    if (seen->answer && memchr(seen->out, '\n', seen->out_len)) {
        const char *answer = seen->answer;

        seen->answer = NULL;
        check(sbr_job_write_stdin(seen->job, answer, strlen(answer)) == (int64_t)strlen(answer),
              "an answer is taken");
        check(sbr_job_close_stdin(seen->job) == 0, "stdin can be closed");
    }
}

static void write_more(struct seen *seen)
{
    static char block[65536];

    while (seen->written < seen->to_write) {
        size_t left = seen->to_write - seen->written;
        int64_t n =
            sbr_job_write_stdin(seen->job, block, left < sizeof(block) ? left : sizeof(block));

        if (n < 0) {
            seen->write_result = (int)n;
            return;
        }
        seen->written += (size_t)n;
        if (n < (int64_t)sizeof(block) && seen->written < seen->to_write)
            return;
    }
    (void)sbr_job_close_stdin(seen->job);
}

static void saw_event(void *context, const sbr_event *event)
{
    struct seen *seen = context;

    check(event->struct_size == sizeof(*event), "an event has its size");
    switch (event->type) {
    case SBR_EVENT_STAGE:
        seen->stages++;
        snprintf(seen->stage, sizeof(seen->stage), "%s", event->stage);
        break;
    case SBR_EVENT_DENIAL:
        seen->denials++;
        snprintf(seen->target, sizeof(seen->target), "%s %s", event->kind, event->target);
        check(event->rule && event->rule[0], "a denial has its rule");
        break;
    case SBR_EVENT_METRICS:
        seen->metrics++;
        seen->last = *event->metrics;
        break;
    case SBR_EVENT_STDIN:
        seen->rooms++;
        write_more(seen);
        break;
    case SBR_EVENT_QUEUE:
        seen->queued++;
        break;
    default:
        break;
    }
}

static sbr_request *make_request(const char *code)
{
    const char *words[] = { "sh", "-c", code, NULL };
    sbr_request *req = NULL;
    sbr_error err;

    if (sbr_request_new(NULL, NULL, &req, &err) < 0 || sbr_request_set_argv(req, words) < 0 ||
        sbr_request_set_limit(req, SBR_WALL_MS, 20000) < 0 ||
        sbr_request_allow_degraded(req, degraded) < 0)
        complain("request", "cannot be made");
    return req;
}

static void start(const sbr_request *req, struct seen *seen)
{
    sbr_error err;

    if (sbr_job_start(runtime, req, &seen->job, &err) < 0) {
        complain("start", err.message);
        exit(1);
    }
    check(sbr_job_on_output(seen->job, saw_output, seen) == 0, "output can be wanted");
    check(sbr_job_on_event(seen->job, saw_event, seen) == 0, "events can be wanted");
}

static int verdict(sbr_job *job)
{
    sbr_result *result = NULL;
    sbr_error err;
    int ret = 0;

    if (sbr_job_finish(job, &result, &err) < 0) {
        complain("finish", err.message);
        return 0;
    }
    if (!result) {
        complain("finish", "the result was given before");
        return 0;
    }
    ret = sbr_result_report(result)->verdict;
    sbr_result_free(result);
    return ret;
}

static void a_conversation(void)
{
    sbr_request *req = make_request("echo who; read x; echo \"hello $x\"; cat; echo bye >&2");
    struct seen seen = { .answer = "you\nand more\n" };

    start(req, &seen);
    check(sbr_job_write_stdin(seen.job, NULL, 0) == 0, "stdin is opened by an empty write");
    check(verdict(seen.job) == SBR_EXITED, "it exits");
    check(!strcmp(seen.out, "who\nhello you\nand more\n"), "stdout comes in order");
    check(!strcmp(seen.err, "bye\n"), "stderr comes");
    check(seen.stages == 1 && !strcmp(seen.stage, "run"), "its stage is reported");
    check(sbr_job_write_stdin(seen.job, "x", 1) < 0, "no write after the end");
    check(sbr_job_on_output(seen.job, saw_output, &seen) == SBR_E_INVALID, "too late for output");
    check(sbr_job_pass(seen.job, SBR_STDOUT, 1) == SBR_E_INVALID, "too late to pass");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

/* The request's stdin comes first; without a write end-of-file follows it. */
static void stdin_of_the_request(void)
{
    sbr_request *req = make_request("cat");
    struct seen seen = { 0 }, plain = { 0 };

    check(sbr_request_set_stdin(req, "first ", 6) == 0, "stdin can be set");
    start(req, &seen);
    check(sbr_job_write_stdin(seen.job, "second", 6) == 6, "more is taken");
    check(sbr_job_close_stdin(seen.job) == 0, "it is closed");
    check(sbr_job_write_stdin(seen.job, "third", 5) == SBR_E_INVALID, "closed is closed");
    check(verdict(seen.job) == SBR_EXITED && !strcmp(seen.out, "first second"),
          "one after another");
    sbr_job_free(seen.job);
    start(req, &plain);
    check(verdict(plain.job) == SBR_EXITED && !strcmp(plain.out, "first "), "end-of-file follows");
    check(sbr_job_write_stdin(plain.job, "x", 1) == SBR_E_INVALID, "it was not opened");
    sbr_job_free(plain.job);
    sbr_request_free(req);
}

/* More than waits for a program, once that has closed its stdin: no event would report room. */
static void late_stdin(void)
{
    static char block[2 << 20];
    sbr_request *req = make_request("exec <&-; echo closed; exec sleep 20");
    struct seen seen = { 0 };
    sbr_result *result = NULL;
    sbr_error err;
    int64_t n;

    start(req, &seen);
    check(sbr_job_write_stdin(seen.job, NULL, 0) == 0, "stdin is opened");
    while (seen.out_total == 0 && sbr_job_dispatch(seen.job, &result, &err) == 0)
        poll(&(struct pollfd){ .fd = sbr_job_fd(seen.job), .events = POLLIN }, 1, 20000);
    n = sbr_job_write_stdin(seen.job, block, sizeof(block));
    while (n >= 0 && !seen.rooms && sbr_job_dispatch(seen.job, &result, &err) == 0)
        poll(&(struct pollfd){ .fd = sbr_job_fd(seen.job), .events = POLLIN }, 1, 20000);
    if (n >= 0) /* init had not closed its own yet */
        n = sbr_job_write_stdin(seen.job, block, 1);
    check(n == SBR_E_NOT_FOUND, "that the program has closed its stdin is reported");
    sbr_job_cancel(seen.job);
    check(verdict(seen.job) == SBR_CANCELLED, "it is cancelled");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

static void much_stdin(void)
{
    sbr_request *req = make_request("wc -c");
    struct seen seen = { .to_write = 10 << 20 };

    start(req, &seen);
    write_more(&seen);
    check(seen.written > 0 && seen.written <= 2 << 20, "what waits is bounded");
    check(verdict(seen.job) == SBR_EXITED, "it exits");
    check(seen.rooms > 0 && !strcmp(seen.out, "10485760\n"), "all of it arrives");
    sbr_job_free(seen.job);
    sbr_request_free(req);

    req = make_request("exec <&-; sleep 0.3; echo done");
    seen = (struct seen){ .to_write = 10 << 20 };
    start(req, &seen);
    write_more(&seen);
    check(verdict(seen.job) == SBR_EXITED && !strcmp(seen.out, "done\n"), "nobody reads, it ends");
    check(seen.write_result == SBR_E_NOT_FOUND, "that it is not read is reported");
    sbr_job_free(seen.job);
    sbr_request_free(req);
    late_stdin();
}

static void metrics_and_cancel(void)
{
    sbr_request *req = make_request("head -c 3000000 /dev/zero >/dev/null; sleep 60 & "
                                    "while :; do :; done");
    struct seen seen = { 0 };
    sbr_metrics now = { .struct_size = sizeof(now) };
    sbr_result *result = NULL;
    sbr_error err;
    int r = 0;

    start(req, &seen);
    check(sbr_job_set_metrics_every(seen.job, 5) == SBR_E_INVALID, "5 ms is too often");
    check(sbr_job_set_metrics_every(seen.job, 20) == 0, "20 ms is not");
    check(sbr_job_metrics(seen.job, &now) == 0 && !now.stage && !now.known, "nothing runs yet");
    while (r == 0 && seen.metrics < 20) {
        struct pollfd fd = { .fd = sbr_job_fd(seen.job), .events = POLLIN };

        if (poll(&fd, 1, 20000) != 1)
            complain("metrics", "nothing happens");
        r = sbr_job_dispatch(seen.job, &result, &err);
    }
    check(r == 0 && sbr_job_metrics(seen.job, &now) == 0 && now.stage, "metrics can be asked for");
    check(!strcmp(now.stage ? now.stage : "", "run") && now.wall_us > 0, "of the program");
    check(now.known & SBR_METRIC_CPU && now.cpu_user_us + now.cpu_system_us > 1000, "CPU time");
    check(now.known & SBR_METRIC_MEMORY && now.memory_bytes > 100000, "memory");
    check(now.known & SBR_METRIC_PROCESSES && now.processes == 2, "processes");
    if (now.known & SBR_METRIC_IO)
        check(now.io_read_bytes >= 3000000 && now.io_write_bytes >= 3000000,
              "I/O of the dead, too");
    else
        check(degraded, "I/O is known with a cgroup");
    sbr_job_cancel(seen.job);
    check(verdict(seen.job) == SBR_CANCELLED, "it is cancelled");
    now = (sbr_metrics){ .struct_size = sizeof(size_t) + 8, .wall_us = 77 };
    check(sbr_job_metrics(seen.job, &now) == 0 && now.wall_us == 77,
          "an older struct is respected");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

static void denials(void)
{
    sbr_request *req = make_request("for i in 1 2 3; do mkdir /sys/x; done; mknod /tmp/b b 1 1; "
                                    "unshare -m true; unshare -m true; sleep 0.2; echo later");
    struct seen seen = { 0 };

    start(req, &seen);
    check(verdict(seen.job) == SBR_EXITED, "it exits");
    check(seen.denials > 0, "a denial is reported");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

static void held_output(void)
{
    sbr_request *req = make_request("echo begun; read x; i=0; while [ $i -lt 20000 ]; do "
                                    "echo 0123456789012345678; i=$((i+1)); done; echo $x");
    struct seen seen = { 0 };
    sbr_result *result = NULL;
    sbr_error err;

    start(req, &seen);
    check(sbr_job_write_stdin(seen.job, "", 0) == 0, "stdin is open");
    check(sbr_job_set_metrics_every(seen.job, 10) == 0, "metrics wake us");
    while (seen.out_total < 6 && sbr_job_dispatch(seen.job, &result, &err) == 0)
        poll(&(struct pollfd){ .fd = sbr_job_fd(seen.job), .events = POLLIN }, 1, 1000);
    check(sbr_job_hold_output(seen.job, 1) == 0, "it can be held");
    check(sbr_job_write_stdin(seen.job, "end\n", 4) == 4, "stdin is still open");
    seen.metrics = 0;
    while (seen.metrics < 10 && sbr_job_dispatch(seen.job, &result, &err) == 0)
        poll(&(struct pollfd){ .fd = sbr_job_fd(seen.job), .events = POLLIN }, 1, 1000);
    check(seen.out_total == 6, "nothing comes while it is held");
    check(sbr_job_hold_output(seen.job, 0) == 0, "it goes on");
    check(verdict(seen.job) == SBR_EXITED && seen.out_total == 400010, "all of it comes");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

/* A reader that leaves ends the writing program, not this one, which does not ignore SIGPIPE. */
static void passed_on(void)
{
    sbr_request *req = make_request("echo one; echo two >&2"), *yes = make_request("exec yes");
    struct seen seen = { 0 };
    char text[64] = "";
    sbr_result *result = NULL;
    int ends[2], gone[2];
    sbr_error err;

    if (pipe(ends) < 0 || pipe(gone) < 0)
        exit(1);
    start(req, &seen);
    check(sbr_job_pass(seen.job, SBR_STDOUT, ends[1]) == 0, "stdout can be passed");
    check(sbr_job_set_result_output(seen.job, 0) == 0, "the result need not have it");
    check(sbr_job_finish(seen.job, &result, &err) == 0, "it ends");
    check(result && sbr_result_report(result)->out_len == 0, "the result has none");
    sbr_result_free(result);
    check(read(ends[0], text, sizeof(text) - 1) == 4 && !strcmp(text, "one\n"), "the pipe has it");
    check(!strcmp(seen.out, "one\n") && !strcmp(seen.err, "two\n"), "the callback, too");
    sbr_job_free(seen.job);

    close(gone[0]);
    if (sbr_job_start(runtime, yes, &seen.job, &err) < 0 ||
        sbr_job_pass(seen.job, SBR_STDOUT, gone[1]) < 0 ||
        sbr_job_set_result_output(seen.job, 0) < 0)
        complain("pass", "cannot be asked for");
    check(sbr_job_finish(seen.job, &result, &err) == 0, "a reader that left is no error");
    check(result && sbr_result_report(result)->signal == SIGPIPE, "but it is for the program");
    sbr_result_free(result);
    sbr_job_free(seen.job);
    sbr_request_free(req);
    sbr_request_free(yes);
}

/* A terminal of the size that is asked for, which grows when the program says so. */
static void saw_ready(void *context, int stream, const char *data, size_t len)
{
    struct seen *seen = context;

    saw_output(context, stream, data, len);
    if (seen->rooms == 0 && strstr(seen->out, "30 90") && strstr(seen->out, "ready")) {
        seen->rooms = 1;
        check(sbr_job_resize(seen->job, 40, 100) == 0, "it can be resized");
        check(sbr_job_signal(seen->job, SIGUSR1) == 0, "it can be signalled");
    }
}

/* The signal goes to the whole group: once it is ready, the shell starts no other process. */
static void a_terminal(void)
{
    sbr_request *req = make_request("trap 'stty size; exit 5' USR1; stty size; "
                                    "echo ready; while :; do :; done");
    struct seen seen = { 0 };

    check(sbr_request_set_tty(req, 30, 90) == 0, "a terminal can be asked for");
    start(req, &seen);
    check(sbr_job_on_output(seen.job, saw_ready, &seen) == 0, "output can be wanted");
    check(sbr_job_signal(seen.job, 0) == SBR_E_INVALID, "0 is no signal");
    check(sbr_job_resize(seen.job, 0, 1) == SBR_E_INVALID, "0 is no size");
    check(verdict(seen.job) == SBR_EXITED, "it exits");
    check(strstr(seen.out, "40 100") != NULL, "its terminal has grown");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

static void *converse(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++)
        a_conversation();
    return NULL;
}

static void two_threads(void)
{
    pthread_t threads[2];

    for (size_t i = 0; i < LENGTH(threads); i++)
        if (pthread_create(&threads[i], NULL, converse, NULL) != 0)
            exit(1);
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
}

static void refused(int r, const sbr_request *req, const char *words)
{
    const sbr_error *why = sbr_request_error(req);

    if (r >= 0 || why->code != r || !strstr(why->message, words) || strstr(why->message, "--"))
        complain(words, why->message);
}

static void refusals(void)
{
    sbr_request *req = NULL;
    sbr_error err;
    int r = sbr_request_new("pyhton", NULL, &req, &err);

    check(r == SBR_E_NOT_FOUND && strstr(err.message, "did you mean 'python'"), "pyhton");
    r = sbr_request_new(NULL, "strcit", &req, &err);
    check(r == SBR_E_NOT_FOUND && strstr(err.message, "default, strict"), "strcit");
    check(sbr_request_new("sh", NULL, NULL, &err) == SBR_E_INVALID && err.message[0], "no place");
    check(sbr_run(NULL, NULL, NULL, &err) == SBR_E_INVALID && err.message[0], "no runtime");
    check(sbr_job_dispatch(NULL, NULL, &err) == SBR_E_INVALID && err.message[0], "no job");
    check(sbr_request_from_json("{\"language\": \"pyhton\"}", 22, &req, &err) == SBR_E_NOT_FOUND,
          "pyhton in JSON");
    if (sbr_request_new("python@3", "strict", &req, &err) < 0) {
        complain("python@3", err.message);
        return;
    }
    check(sbr_request_error(req)->code == SBR_OK, "no refusal yet");
    refused(sbr_request_set_limit(req, SBR_MEMORY_BYTES, 1), req,
            "memory_bytes 1 is too small; give a value from 4194304 to");
    refused(sbr_request_set_limit(req, (enum sbr_limit)99, 1), req, "no limit number 99");
    refused(sbr_request_set_compile_limit(req, SBR_MEMORY_BYTES, 1), req, "memory_bytes 1 is too");
    refused(sbr_request_set_compile_limit(req, (enum sbr_limit)99, 1), req, "no limit number 99");
    refused(sbr_request_add_executable(req, "../x", "", 0), req, "'../x' is not usable");
    refused(sbr_request_set_workdir(req, NULL), req, "the value of 'workdir' is missing");
    refused(sbr_request_set_stdin(req, NULL, 1), req, "the value of 'stdin' is missing");
    check(sbr_request_set_check(NULL, 1) == SBR_E_INVALID, "no request to check");
    refused(sbr_request_set_network(req, "bogus"), req, "unknown network mode 'bogus'");
    refused(sbr_request_add_file(req, "../x", "", 0), req, "'../x' is not usable");
    refused(sbr_request_add_file(req, NULL, "", 0), req, "the path of the file is missing");
    refused(sbr_request_set_env(req, "a=b", "c"), req, "'a=b'");
    refused(sbr_request_set_workdir(req, "work"), req, "'work' is not an absolute path");
    refused(sbr_request_set_require(req, "vm"), req, "no isolation tier 'vm'");
    refused(sbr_request_set_caller(req, ""), req, "caller");
    refused(sbr_request_add_dependency(req, "-x"), req, "'-x'");
    refused(sbr_request_set_changes(req, 64), req, "0x40");
    refused(sbr_request_add_volume(req, "/a:/b:rx"), req, "the volume '/a:/b:rx' has no mode 'rx'");
    refused(sbr_request_add_output(req, "../x"), req, "the output '../x' has '..'");
    refused(sbr_request_allow_host(req, "*"), req, "choose the network mode full");
    refused(sbr_request_set_template(req, "call", NULL), req, "a template needs a program");
    check(sbr_request_set_limit(NULL, SBR_PIDS, 1) == SBR_E_INVALID, "no request");
    check(sbr_request_set_workdir(req, "/tmp") == 0 &&
              sbr_request_set_require(req, "process") == 0 &&
              sbr_request_add_compile_arg(req, "-O1") == 0 &&
              sbr_request_set_caller(req, "me") == 0 &&
              sbr_request_set_code(req, "print(1)", 8) == 0,
          "what is right is taken");
    sbr_request_free(req);
    check(!strcmp(sbr_verdict_name(SBR_TIMEOUT), "timeout") && !sbr_verdict_name(0) &&
              !sbr_verdict_name(99),
          "names of verdicts");
    check(!strcmp(sbr_code_name(SBR_E_NOT_FOUND), "not_found") && !sbr_code_name(1) &&
              !sbr_code_name(-99),
          "names of codes");
    check(!strcmp(sbr_limit_name(SBR_MEMORY_BYTES), "memory_bytes") && !sbr_limit_name(-1) &&
              !sbr_limit_name(99),
          "names of limits");
}

static void works(void)
{
    sbr_error err = { 0 };

    if (sbr_runtime_check(runtime, &err) < 0)
        complain("check", err.message);
    check(sbr_runtime_check(NULL, &err) == SBR_E_INVALID && err.message[0], "no runtime to check");
}

/* A command with the tools of a language, and a file that it can execute. */
static void a_command(void)
{
    static const char tool[] = "#!/bin/sh\necho ran\n";
    const char *words[] = { "sh", "-c", "./tool; ./plain 2>/dev/null || python3 -c 'print(1)'",
                            NULL };
    sbr_request *req = NULL;
    struct seen seen = { 0 };
    sbr_error err;

    if (sbr_request_new("python", NULL, &req, &err) < 0) {
        complain("python", err.message);
        return;
    }
    check(sbr_request_set_command(req, 1) == 0 && sbr_request_set_argv(req, words) == 0 &&
              sbr_request_set_compile_limit(req, SBR_PIDS, 5) == 0 &&
              sbr_request_add_executable(req, "tool", tool, strlen(tool)) == 0 &&
              sbr_request_add_file(req, "plain", tool, strlen(tool)) == 0 &&
              sbr_request_allow_degraded(req, degraded) == 0,
          sbr_request_error(req)->message);
    start(req, &seen);
    check(verdict(seen.job) == SBR_EXITED && !strcmp(seen.out, "ran\n1\n"), seen.out);
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

/* What does not fit together is found when the job starts, and named as setters name it. */
static void unfit(void)
{
    sbr_request *req = make_request("true");
    sbr_job *job = NULL;
    sbr_error err = { 0 };

    sbr_request_set_changes(req, SBR_CHANGES_DIFF);
    check(sbr_job_start(runtime, req, &job, &err) == SBR_E_INVALID &&
              strstr(err.message, "diff has nothing") && !strstr(err.message, "--"),
          err.message);
    sbr_request_free(req);
}

static void a_template(void)
{
    static const char *const values[] = { "function=add", "inputs=1, 2", "expected=3", NULL };
    static const char *const wrong[] = { "function=add", "input", NULL };
    static const char code[] = "def add(a, b):\n    return a + b\n";
    sbr_request *req = NULL;
    struct seen seen = { 0 };
    sbr_error err;

    if (sbr_request_new("python", NULL, &req, &err) < 0) {
        complain("python", err.message);
        return;
    }
    check(sbr_request_set_code(req, code, strlen(code)) == 0, "code is taken");
    refused(sbr_request_set_template(req, NULL, NULL), req, "the name of the template is missing");
    refused(sbr_request_set_template(req, "cal", values), req, "python has no template 'cal'");
    refused(sbr_request_set_template(req, "/no/such", values), req, "'/no/such'");
    refused(sbr_request_set_template(req, "call", wrong), req, "the value 'input' is not NAME=");
    refused(sbr_request_set_template(req, "call", NULL), req, "add the value ");
    check(sbr_request_set_template(req, "call", values) == 0, sbr_request_error(req)->message);
    refused(sbr_request_set_template(req, "call", values), req, "in a template already");
    sbr_request_allow_degraded(req, degraded);
    start(req, &seen);
    check(verdict(seen.job) == SBR_EXITED, "it exits");
    check(!strcmp(seen.out, "ok\n"), seen.out);
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

static void kept_output(void)
{
    sbr_request *req = make_request("echo kept"), *plain = make_request("echo not");
    sbr_result *result = NULL;
    sbr_error err = { 0 };

    check(sbr_request_set_keep_output(req, 1) == 0, "output can be kept");
    if (sbr_run(runtime, req, &result, &err) < 0)
        complain("run", err.message);
    check(result && sbr_result_output_id(result), "it has an id");
    printf("%s\n", result && sbr_result_output_id(result) ? sbr_result_output_id(result) : "");
    sbr_result_free(result);
    result = NULL;
    if (sbr_run(runtime, plain, &result, &err) < 0)
        complain("run", err.message);
    check(!sbr_result_output_id(result) && !sbr_result_output_id(NULL), "without it there is none");
    sbr_result_free(result);
    sbr_request_free(req);
    sbr_request_free(plain);
}

/* One that runs until its stdin has a line, and three that wait: the last one's caller is OTHER. */
struct fair_job {
    struct seen seen;
    sbr_request *req;
    int is_over;
};

static int fair_turn(struct fair_job *one)
{
    sbr_result *result = NULL;
    sbr_error err;
    int r = sbr_job_dispatch(one->seen.job, &result, &err);

    if (r < 0)
        complain("dispatch", err.message);
    sbr_result_free(result);
    return one->is_over = r != 0;
}

static void fair_wait(struct fair_job *one, const int *until)
{
    while (!*until && !one->is_over) {
        struct pollfd ready = { sbr_job_fd(one->seen.job), POLLIN, 0 };

        check(poll(&ready, 1, 20000) == 1, "a job goes on");
        fair_turn(one);
    }
}

static int fair_end(struct fair_job *jobs, size_t n)
{
    struct pollfd ready[4];

    for (size_t i = 0; i < n; i++)
        ready[i] =
            (struct pollfd){ jobs[i].is_over ? -1 : sbr_job_fd(jobs[i].seen.job), POLLIN, 0 };
    if (poll(ready, n, 20000) <= 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (ready[i].revents && fair_turn(&jobs[i]))
            printf("%zu", i);
    return 1;
}

static void in_turn(void)
{
    struct fair_job jobs[4] = { 0 };
    const char *other = getenv("OTHER");
    int over = 0;

    for (size_t i = 0; i < LENGTH(jobs); i++) {
        jobs[i].req = make_request(i ? "echo" : "echo; read x");
        check(sbr_request_set_caller(jobs[i].req, i == 3 && other ? other : "one") == 0, "a name");
        start(jobs[i].req, &jobs[i].seen);
        if (i == 0)
            check(sbr_job_write_stdin(jobs[i].seen.job, NULL, 0) == 0, "stdin stays open");
        while (i == 0 && jobs[i].seen.out_len == 0 && !jobs[i].is_over)
            fair_turn(&jobs[i]);
        if (i)
            fair_wait(&jobs[i], &jobs[i].seen.queued);
    }
    check(sbr_job_close_stdin(jobs[0].seen.job) == 0, "the first may end");
    for (; over < 4 && fair_end(jobs, LENGTH(jobs));)
        over = jobs[0].is_over + jobs[1].is_over + jobs[2].is_over + jobs[3].is_over;
    check(over == 4, "all end");
    for (size_t i = 0; i < LENGTH(jobs); i++) {
        sbr_job_free(jobs[i].seen.job);
        sbr_request_free(jobs[i].req);
    }
}

static void copy_output(void *context, int stream, const char *data, size_t len)
{
    (void)context;
    for (ssize_t n; len; data += n, len -= (size_t)n)
        if ((n = write(stream, data, len)) < 0)
            exit(2);
}

/* The streams of a command, as its callback gets them. */
static void copy(void)
{
    sbr_request *req = make_request(getenv("COPY"));
    struct seen seen = { 0 };

    start(req, &seen);
    check(sbr_job_on_output(seen.job, copy_output, NULL) == 0, "output can be copied");
    check(sbr_job_set_result_output(seen.job, 0) == 0, "and not kept");
    check(verdict(seen.job) == SBR_EXITED, "it exits");
    sbr_job_free(seen.job);
    sbr_request_free(req);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    { "conversation", a_conversation },
    { "stdin", stdin_of_the_request },
    { "much", much_stdin },
    { "metrics", metrics_and_cancel },
    { "denials", denials },
    { "held", held_output },
    { "passed", passed_on },
    { "threads", two_threads },
    { "refusals", refusals },
    { "unfit", unfit },
    { "template", a_template },
    { "command", a_command },
    { "kept", kept_output },
    { "turn", in_turn },
    { "check", works },
    { "copy", copy },
    { "terminal", a_terminal },
};

int main(int argc, char **argv)
{
    sbr_error err;

    degraded = argc > 2;
    if (sbr_runtime_open(NULL, &runtime, &err) < 0) {
        complain("runtime", err.message);
        return 1;
    }
    for (size_t i = 0; argc > 1 && i < LENGTH(cases); i++)
        if (!strcmp(argv[1], cases[i].name))
            cases[i].run();
    sbr_runtime_close(runtime);
    return failures != 0;
}
