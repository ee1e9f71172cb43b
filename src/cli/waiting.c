#include "cli/waiting.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"

static void *speak(void *context)
{
    struct waiting *w = context;
    struct progress progress = { .title = "" };
    bool terminal = isatty(STDERR_FILENO), said = false;
    struct timespec next;

    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&w->lock);
    while (!w->over) {
        next.tv_sec++;
        while (!w->over && pthread_cond_timedwait(&w->done, &w->lock, &next) == 0)
            ;
        if (w->over)
            break;
        if (terminal)
            progress_show(&progress, w->title);
        else if (!said)
            fprintf(stderr, "sandbox-run: %s\n", w->title);
        said = true;
    }
    pthread_mutex_unlock(&w->lock);
    if (terminal)
        progress_show(&progress, NULL);
    return NULL;
}

void waiting_begin(struct waiting *w, const char *title, bool quiet)
{
    sigset_t all, before;

    memset(w, 0, sizeof(*w));
    if (quiet)
        return;
    snprintf(w->title, sizeof(w->title), "%s", title);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->done, NULL);
    sigfillset(&all); /* signals are for the thread that waits */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    w->began = pthread_create(&w->thread, NULL, speak, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void waiting_end(struct waiting *w)
{
    if (!w->began)
        return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    w->began = false;
}
