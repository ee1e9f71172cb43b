/* What egress reports for this process: refusals and CPU time. */
#ifndef SECRETS_NEWS_H
#define SECRETS_NEWS_H

#include "secrets/helper.h"

void news_deny(struct helper *helper, const struct denial *one);
/* The CPU time, when there is more to report. */
void news_report(struct helper *helper);

#endif
