#include "secrets/news.h"

#include <sys/socket.h>

#include "base/clock.h"

#define REPORT_US 2000 /* of CPU time, between two reports */

static uint64_t cpu_us(const struct helper *helper)
{
    return clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - helper->started_us;
}

/* Does not wait: where egress reads too slowly, a report is lost rather than a connection late. */
static void news_send(struct helper *helper, struct secrets_news *news)
{
    news->cpu_us = helper->reported_us = cpu_us(helper);
    (void)send(SECRETS_LINK, news, sizeof(*news), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void news_deny(struct helper *helper, const struct denial *one)
{
    struct secrets_news news = { .has_denial = 1, .denial = *one };

    news_send(helper, &news);
}

void news_report(struct helper *helper)
{
    struct secrets_news news = { 0 };

    if (cpu_us(helper) - helper->reported_us >= REPORT_US)
        news_send(helper, &news);
}
