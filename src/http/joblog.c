#include "http/joblog.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WAITING_MAX ((size_t)256 << 20)
#define IDLE_S 5  /* then the log is moved into the file */
#define RETRY_S 1 /* after a failure */

struct changes {
    struct joblog_change *first, **end;
};

struct joblog {
    const char *name;           /* of the file; borrowed */
    struct joblog_store *store; /* the thread's, once that runs; NULL: it cannot be opened now */
    struct loop *loop;
    struct loop_watch watch; /* an eventfd: something is done */
    struct changes added;    /* in this turn; the loop's */
    size_t bytes, n;         /* that are not done; the loop's */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    struct changes queue, written; /* behind the mutex */
    bool ends;
};

static void changes_init(struct changes *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void append(struct changes *list, struct joblog_change *change)
{
    change->next = NULL;
    *list->end = change;
    list->end = &change->next;
}

/* Moves all of `from` behind `to`. */
static void splice(struct changes *to, struct changes *from)
{
    if (!from->first)
        return;
    *to->end = from->first;
    to->end = from->end;
    changes_init(from);
}

struct joblog_change *joblog_change_new(enum joblog_verb verb, const char *id)
{
    struct joblog_change *change = calloc(1, sizeof(*change));

    if (!change)
        return NULL;
    change->verb = verb;
    memcpy(change->job.id, id, strnlen(id, sizeof(change->job.id) - 1));
    return change;
}

void joblog_change_free(struct joblog_change *change)
{
    if (!change)
        return;
    free(change->request);
    free(change->note);
    response_text_drop(change->text);
    free(change);
}

/* 1: it is written; 0: it cannot be, and others can. */
static int write_one(struct joblog_store *store, const struct joblog_change *change, sbr_error *err)
{
    int r = 0;

    switch (change->verb) {
    case JOBLOG_ACCEPT:
        r = joblog_store_accept(store, &change->job, err);
        break;
    case JOBLOG_BEGIN:
        return joblog_store_mark(store, change->job.id, err);
    case JOBLOG_END:
        r = joblog_store_end(store, &change->job, err);
        break;
    case JOBLOG_DROP_NOTE:
        r = joblog_store_drop_note(store, change->job.id, err);
        break;
    case JOBLOG_FORGET:
        r = joblog_store_forget(store, change->job.id, err);
        break;
    }
    return r < 0 ? r : 1;
}

/* All or nothing. */
static int write_all(struct joblog_store *store, const struct changes *list, sbr_error *err)
{
    if (!store)
        return err_set(err, SBR_E_SYSTEM, "joblog", "the record of asynchronous jobs is not open");
    if (joblog_store_begin(store, err) < 0)
        return err->code;
    for (struct joblog_change *change = list->first; change; change = change->next) {
        int r = write_one(store, change, err);

        if (r < 0) {
            joblog_store_roll_back(store);
            return err->code;
        }
        change->err.code = 0;
        if (r == 0)
            err_set(&change->err, SBR_E_BUG, "joblog", "the job is not on record, or has begun");
    }
    if (joblog_store_commit(store, err) == 0)
        return 0;
    joblog_store_roll_back(store);
    return err->code;
}

/* Those that may fail are done with; the others stay. */
static void part(struct changes *list, struct changes *failed, const sbr_error *err)
{
    struct joblog_change *change = list->first;
    struct changes kept;

    changes_init(&kept);
    while (change) {
        struct joblog_change *next = change->next;
        bool fails = change->verb == JOBLOG_ACCEPT && !change->insists;

        if (fails)
            change->err = *err;
        append(fails ? failed : &kept, change);
        change = next;
    }
    changes_init(list);
    splice(list, &kept);
}

/* With the mutex; false: nothing came. */
static bool wait_for_changes(struct joblog *joblog, time_t seconds)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (!joblog->queue.first && !joblog->ends)
        if (pthread_cond_timedwait(&joblog->cond, &joblog->mutex, &until) == ETIMEDOUT)
            break;
    return joblog->queue.first != NULL;
}

static void report(struct joblog *joblog, struct changes *list)
{
    if (!list->first)
        return;
    (void)pthread_mutex_lock(&joblog->mutex);
    splice(&joblog->written, list);
    (void)pthread_mutex_unlock(&joblog->mutex);
    (void)eventfd_write(joblog->watch.fd, 1);
}

/* A file that others have damaged, or removed, is none that can be written to. */
static void repair(struct joblog *joblog)
{
    bool ignored;
    sbr_error err;

    if (joblog->store && !joblog_store_is_damaged(joblog->store))
        return;
    joblog_store_close(joblog->store);
    joblog->store = NULL;
    if (joblog_store_open(joblog->name, &joblog->store, &ignored, &err) == 0)
        dprintf(STDERR_FILENO, "http: the record of asynchronous jobs was damaged; there is a new "
                               "one, without the jobs of before\n");
}

static void *work(void *context)
{
    struct joblog *joblog = context;
    struct changes list, over;
    bool dirty = false, ends = false;
    sbr_error err;

    changes_init(&list);
    changes_init(&over);
    while (!ends) {
        (void)pthread_mutex_lock(&joblog->mutex);
        (void)wait_for_changes(joblog, list.first ? RETRY_S : IDLE_S);
        splice(&list, &joblog->queue);
        ends = joblog->ends;
        (void)pthread_mutex_unlock(&joblog->mutex);
        if (!list.first) {
            if (dirty && joblog->store)
                joblog_store_settle(joblog->store);
            dirty = false;
            continue;
        }
        dirty = true;
        if (write_all(joblog->store, &list, &err) == 0) {
            splice(&over, &list);
        } else {
            part(&list, &over, &err);
            repair(joblog);
        }
        report(joblog, &over);
    }
    report(joblog, &list); /* the gateway ends without them */
    return NULL;
}

static void changes_done(void *context, uint32_t events)
{
    struct joblog *joblog = context;
    struct joblog_change *change;
    struct changes list;
    eventfd_t ignored;

    (void)events;
    (void)eventfd_read(joblog->watch.fd, &ignored);
    changes_init(&list);
    (void)pthread_mutex_lock(&joblog->mutex);
    splice(&list, &joblog->written);
    (void)pthread_mutex_unlock(&joblog->mutex);
    while ((change = list.first)) {
        list.first = change->next;
        joblog->bytes -= change->bytes;
        joblog->n--;
        if (change->done)
            change->done(change->context, change->err.code ? &change->err : NULL);
        joblog_change_free(change);
    }
}

static int start(struct joblog *joblog, sbr_error *err)
{
    pthread_condattr_t attributes;

    (void)pthread_mutex_init(&joblog->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&joblog->cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    joblog->watch = loop_watch_of(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), changes_done, joblog);
    if (joblog->watch.fd < 0 || loop_add(joblog->loop, &joblog->watch, EPOLLIN) < 0)
        return err_set_errno(err, "joblog", "cannot watch the record of asynchronous jobs");
    if (pthread_create(&joblog->thread, NULL, work, joblog) != 0)
        return err_set(err, SBR_E_SYSTEM, "joblog",
                       "cannot start the thread that writes the record of asynchronous jobs");
    return 0;
}

int joblog_open(const char *name, struct loop *loop, joblog_visit *visit, void *context,
                struct joblog **ret, sbr_error *err)
{
    struct joblog *joblog = calloc(1, sizeof(*joblog));
    size_t damaged = 0;
    bool aside = false;

    if (!joblog)
        return err_set_oom(err, "joblog");
    joblog->loop = loop;
    joblog->name = name;
    joblog->watch.fd = -1;
    changes_init(&joblog->added);
    changes_init(&joblog->queue);
    changes_init(&joblog->written);
    if (joblog_store_open(name, &joblog->store, &aside, err) < 0 ||
        joblog_store_each(joblog->store, visit, context, &damaged, err) < 0 ||
        start(joblog, err) < 0) {
        loop_close(loop, &joblog->watch);
        joblog_store_close(joblog->store);
        free(joblog);
        return err->code;
    }
    if (aside)
        dprintf(STDERR_FILENO, "http: the record of asynchronous jobs was damaged; it is kept with "
                               "the ending .damaged, and its jobs are gone\n");
    if (damaged)
        dprintf(STDERR_FILENO, "http: %zu asynchronous jobs were damaged on record, and are gone\n",
                damaged);
    *ret = joblog;
    return 0;
}

void joblog_close(struct joblog *joblog)
{
    static const sbr_error gone = { .code = SBR_E_SYSTEM, .message = "the gateway ended" };

    if (!joblog)
        return;
    joblog_flush(joblog);
    (void)pthread_mutex_lock(&joblog->mutex);
    joblog->ends = true;
    (void)pthread_cond_signal(&joblog->cond);
    (void)pthread_mutex_unlock(&joblog->mutex);
    (void)pthread_join(joblog->thread, NULL);
    for (struct joblog_change *change = joblog->written.first, *next; change; change = next) {
        next = change->next;
        if (change->done)
            change->done(change->context, &gone);
        joblog_change_free(change);
    }
    loop_close(joblog->loop, &joblog->watch);
    joblog_store_close(joblog->store);
    (void)pthread_cond_destroy(&joblog->cond);
    (void)pthread_mutex_destroy(&joblog->mutex);
    free(joblog);
}

void joblog_add(struct joblog *joblog, struct joblog_change *change)
{
    change->bytes =
        sizeof(*change) + change->job.request.len + change->job.note.len + change->job.result.len;
    joblog->bytes += change->bytes;
    joblog->n++;
    append(&joblog->added, change);
}

void joblog_flush(struct joblog *joblog)
{
    if (!joblog || !joblog->added.first)
        return;
    (void)pthread_mutex_lock(&joblog->mutex);
    splice(&joblog->queue, &joblog->added);
    (void)pthread_cond_signal(&joblog->cond);
    (void)pthread_mutex_unlock(&joblog->mutex);
}

bool joblog_has_room(const struct joblog *joblog)
{
    return joblog->bytes < WAITING_MAX;
}

bool joblog_is_busy(const struct joblog *joblog)
{
    return joblog && joblog->n > 0;
}
