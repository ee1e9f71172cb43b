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

void progress_show(struct progress *progress, const char *title)
{
    uint64_t now_us = clock_now_us(), seconds;

    if (!title) {
        if (progress->shown)
            fputs("\r\033[K", stderr);
        *progress = (struct progress){ 0 };
        return;
    }
    if (!progress->shown || strncmp(progress->title, title, sizeof(progress->title) - 1) != 0) {
        snprintf(progress->title, sizeof(progress->title), "%s", title);
        progress->since_us = now_us;
    }
    progress->shown = true;
    seconds = (now_us - progress->since_us) / 1000000;
    fprintf(stderr, "\r\033[K%s ...", progress->title);
    if (seconds)
        fprintf(stderr, " %llu s", (unsigned long long)seconds);
}
