#include "cli/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "plan/stage.h"

const char *progress_doing(const char *stage)
{
    static const char *const doings[N_STAGES] = {
        [STAGE_PREPARE] = "making the language ready, once",
        [STAGE_INSTALL] = "installing packages",
        [STAGE_COMPILE] = "compiling",
        [STAGE_CHECK] = "checking",
    };

    for (int i = 0; i < N_STAGES; i++)
        if (!strcmp(stage, stage_name((enum stage)i)))
            return doings[i];
    return NULL;
}

/* Compiling and checking come with every run; in a pipe only what comes once is news. */
static bool is_news(const struct progress *progress, const char *stage)
{
    return !progress->piped || !strcmp(stage, stage_name(STAGE_PREPARE)) ||
           !strcmp(stage, stage_name(STAGE_INSTALL));
}

static const char *title_of_stage(const struct progress *progress, const sbr_request *req,
                                  const char *stage, char text[120])
{
    const char *language = req->language, *image = req->image, *doing = progress_doing(stage);

    if (!doing || !is_news(progress, stage))
        return NULL;
    snprintf(text, 120, "%.40s%s%s%s%.40s", language ? language : "", language ? ": " : "", doing,
             image ? " in " : "", image ? image : "");
    return text;
}

const char *progress_title(const struct progress *progress, const sbr_request *req,
                           const sbr_event *event, char text[120])
{
    switch (event->type) {
    case SBR_EVENT_STAGE:
        return title_of_stage(progress, req, event->stage, text);
    case SBR_EVENT_PROGRESS:
        snprintf(text, 120, "copying the project: %llu files, %llu MiB",
                 (unsigned long long)event->files, (unsigned long long)(event->bytes >> 20));
        return text;
    case SBR_EVENT_QUEUE:
        if (progress->piped) /* an engine that is busy is asked by many, who would all read it */
            return NULL;
        snprintf(text, 120, "waiting for the engine, %u before this one", event->queue_before);
        return event->queue_before ? text : "waiting for the engine";
    default:
        return progress->shown ? progress->title : NULL;
    }
}

/* Once for all that is waited for, after a second of it. */
static void say_once(struct progress *progress, uint64_t now_us)
{
    if (progress->said || now_us - progress->since_us < 1000000)
        return;
    fprintf(stderr, "sandbox-run: %s\n", progress->title);
    progress->said = true;
}

void progress_show(struct progress *progress, const char *title)
{
    uint64_t now_us = clock_now_us(), seconds;

    if (!title) {
        if (progress->shown && !progress->piped)
            fputs("\r\033[K", stderr);
        *progress = (struct progress){ .piped = progress->piped, .said = progress->said };
        return;
    }
    if (!progress->shown || strncmp(progress->title, title, sizeof(progress->title) - 1) != 0) {
        snprintf(progress->title, sizeof(progress->title), "%s", title);
        progress->since_us = now_us;
    }
    progress->shown = true;
    if (progress->piped) {
        say_once(progress, now_us);
        return;
    }
    seconds = (now_us - progress->since_us) / 1000000;
    fprintf(stderr, "\r\033[K%s ...", progress->title);
    if (seconds)
        fprintf(stderr, " %llu s", (unsigned long long)seconds);
}
