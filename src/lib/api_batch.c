/* sbr_batch_run: many jobs in one loop, a few at a time. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "lib/runner.h"

#define MOST_JOBS 1024
#define EVENTS 64

struct batch_slot {
    sbr_job *job; /* NULL: free */
    void *item;
};

struct batch_run {
    sbr_runtime *rt;
    const sbr_batch *batch;
    struct batch_slot *slots;
    unsigned int n_slots, running;
    uint64_t begun;
    int epoll_fd;
    bool stopped;
};

static void end_slot(struct batch_run *run, struct batch_slot *slot, sbr_result *result,
                     const sbr_error *err)
{
    void *item = slot->item;

    if (result)
        (void)runner_find_version(slot->job, result, true);
    sbr_job_free(slot->job); /* its fd leaves the epoll set when it is closed */
    slot->job = NULL;
    run->running--;
    run->batch->done(run->batch->context, item, result, err);
}

static int start_slot(struct batch_run *run, struct batch_slot *slot, const sbr_request *req,
                      void *item)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = slot };
    sbr_error err;

    run->begun++;
    if (sbr_job_start(run->rt, req, &slot->job, &err) < 0) {
        run->batch->done(run->batch->context, item, NULL, &err);
        return 0;
    }
    slot->item = item;
    run->running++;
    if (epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, sbr_job_fd(slot->job), &event) < 0) {
        err_set_errno(&err, "batch", "cannot watch a run");
        end_slot(run, slot, NULL, &err);
    }
    return 0;
}

static unsigned int most_running(const struct batch_run *run)
{
    bool alone = run->batch->first_alone && run->begun - run->running == 0;

    return alone ? 1 : run->n_slots;
}

static struct batch_slot *free_slot(struct batch_run *run)
{
    struct batch_slot *slot = run->slots;

    while (slot->job)
        slot++;
    return slot;
}

/* Starts what there is room for. */
static void fill(struct batch_run *run)
{
    const sbr_request *req;
    void *item;

    while (!run->stopped && run->running < most_running(run) &&
           run->batch->next(run->batch->context, &req, &item) > 0)
        start_slot(run, free_slot(run), req, item);
}

static void stop(struct batch_run *run)
{
    run->stopped = true;
    (void)epoll_ctl(run->epoll_fd, EPOLL_CTL_DEL, run->batch->stop_fd, NULL);
    for (unsigned int i = 0; i < run->n_slots; i++)
        sbr_job_cancel(run->slots[i].job);
}

static void turn(struct batch_run *run, struct batch_slot *slot)
{
    sbr_result *result = NULL;
    sbr_error err;
    int r = slot->job ? sbr_job_dispatch(slot->job, &result, &err) : 0;

    if (r != 0)
        end_slot(run, slot, r > 0 ? result : NULL, r > 0 ? NULL : &err);
}

static int loop(struct batch_run *run, sbr_error *err)
{
    struct epoll_event events[EVENTS];
    int n;

    for (fill(run); run->running; fill(run)) {
        n = epoll_wait(run->epoll_fd, events, EVENTS, -1);
        if (n < 0 && errno != EINTR)
            return err_set_errno(err, "batch", "cannot wait for the runs");
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                turn(run, events[i].data.ptr);
            else
                stop(run);
        }
    }
    return 0;
}

static unsigned int count_jobs(const sbr_batch *batch)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned int jobs = batch->jobs ? batch->jobs : cpus > 0 ? (unsigned int)cpus : 1;

    return jobs < MOST_JOBS ? jobs : MOST_JOBS;
}

static int open_run(struct batch_run *run, sbr_error *err)
{
    struct epoll_event stop_event = { .events = EPOLLIN };

    run->slots = calloc(run->n_slots, sizeof(*run->slots));
    if (!run->slots)
        return err_set_oom(err, "batch");
    run->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (run->epoll_fd < 0 ||
        (run->batch->stop_fd > 0 &&
         epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, run->batch->stop_fd, &stop_event) < 0))
        return err_set_errno(err, "batch", "cannot watch the runs");
    return 0;
}

int sbr_batch_run(sbr_runtime *rt, const sbr_batch *batch, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct batch_run run = { .rt = rt, .batch = batch, .epoll_fd = -1 };
    int r;

    if (!rt || !batch || batch->struct_size != sizeof(*batch) || !batch->next || !batch->done)
        return err_set(e, SBR_E_INVALID, "batch",
                       "a batch needs a runtime, its struct_size, and the functions next and done");
    run.n_slots = count_jobs(batch);
    r = open_run(&run, e);
    if (r == 0)
        r = loop(&run, e);
    for (unsigned int i = 0; run.slots && i < run.n_slots; i++)
        sbr_job_free(run.slots[i].job);
    free(run.slots);
    if (run.epoll_fd >= 0)
        close(run.epoll_fd);
    return r;
}
