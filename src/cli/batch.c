#include "cli/batch.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signal_fd.h"
#include "base/text.h"
#include "lib/runner.h"
#include "work/results.h"

#define REDRAW_US 100000
#define MOST_JOBS 1024

char *batch_json(const sbr_result *result, const sbr_error *err)
{
    return result ? result_to_json(result) : result_error_to_json(err);
}

bool batch_was_interrupted(const struct batch_front *front, const sbr_result *result)
{
    struct pollfd signals = { .fd = front->signal_fd, .events = POLLIN };

    return result && result->verdict == SBR_CANCELLED && poll(&signals, 1, 0) > 0;
}

static void draw(struct batch_front *front)
{
    uint64_t now = clock_now_us(), took = now - front->started_us, left;
    char text[120];

    if (front->o->quiet || !isatty(STDERR_FILENO) || now - front->shown_us < REDRAW_US)
        return;
    front->shown_us = now;
    left = front->done ? took / front->done * (front->total - front->skipped - front->done) : 0;
    snprintf(text, sizeof(text),
             "%" PRIu64 " of %" PRIu64 " %s, %" PRIu64 " a second, %" PRIu64 " s left",
             front->done + front->skipped, front->total, front->nouns,
             took ? front->done * 1000000 / took : 0, left / 1000000);
    progress_show(&front->line, text);
}

void batch_count(struct batch_front *front, const sbr_result *result)
{
    front->done++;
    front->ends[result ? result->verdict : 0]++;
    front->good += result && result_success(result);
    draw(front);
}

/* "10 items in 1.2 s, 8 a second: 7 exited 0, 1 exited, 2 timeout" */
static void summarize(struct batch_front *front)
{
    uint64_t took = clock_now_us() - front->started_us;
    const char *separator = ": ";

    fprintf(stderr, "%" PRIu64 " %s in %" PRIu64 ".%" PRIu64 " s, %" PRIu64 " a second",
            front->done, front->done == 1 ? front->noun : front->nouns, took / 1000000,
            took / 100000 % 10, took ? front->done * 1000000 / took : 0);
    for (size_t i = 0; i < sizeof(front->ends) / sizeof(*front->ends); i++) {
        uint64_t n = front->ends[i] - (i == SBR_EXITED ? front->good : 0);
        const char *name = i ? result_verdict_name((enum sbr_verdict)i) : "not run";

        if (i == SBR_EXITED && front->good) {
            fprintf(stderr, "%s%" PRIu64 " succeeded", separator, front->good);
            separator = ", ";
        }
        if (n) {
            fprintf(stderr, "%s%" PRIu64 " %s", separator, n, i == SBR_EXITED ? "failed" : name);
            separator = ", ";
        }
    }
    if (front->skipped)
        fprintf(stderr, "; %" PRIu64 " had their results", front->skipped);
    fputc('\n', stderr);
}

static int watch_signals(struct batch_front *front, sbr_error *err)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

    front->signal_fd = signal_fd_open(numbers, ARRAY_LEN(numbers));
    if (front->signal_fd < 0)
        return err_set_errno(err, "signals", "cannot watch for signals");
    return 0;
}

static int read_jobs(const struct batch_options *own, unsigned int *ret, sbr_error *err)
{
    uint64_t n = 0;

    *ret = 0;
    if (!own->jobs)
        return 0;
    if (text_parse_count(own->jobs, &n) != TEXT_OK || !n || n > MOST_JOBS)
        return err_set(err, SBR_E_INVALID, "options",
                       "--jobs '%.40s' is no number of runs; give one from 1 to %d", own->jobs,
                       MOST_JOBS);
    *ret = (unsigned int)n;
    return 0;
}

static int end_status(const struct batch_front *front)
{
    struct signalfd_siginfo info;

    if (front->failure.code)
        return cli_fail(front->o, &front->failure);
    if (read(front->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        return EXIT_SIGNAL + (int)info.ssi_signo;
    return front->good == front->done ? 0 : 1;
}

int batch_start(struct batch_front *front, sbr_batch *batch, struct results *results)
{
    sbr_error err;
    int r;

    batch->struct_size = sizeof(*batch);
    front->started_us = clock_now_us();
    if (read_jobs(front->own, &batch->jobs, &err) < 0 || watch_signals(front, &err) < 0 ||
        runner_open(RUNNER_LONG, front->o->cold, &front->rt, &err) < 0)
        return cli_fail(front->o, &err);
    batch->stop_fd = front->signal_fd;
    r = sbr_batch_run(front->rt, batch, &err);
    progress_show(&front->line, NULL);
    sbr_runtime_close(front->rt);
    if (r < 0)
        return cli_fail(front->o, &err);
    if (!front->failure.code)
        (void)results_flush(results, &front->failure);
    if (front->summarize)
        front->summarize(front);
    else if (!front->o->quiet)
        summarize(front);
    return end_status(front);
}
