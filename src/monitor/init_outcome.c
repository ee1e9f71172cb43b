#include "monitor/monitor.h"

#include "base/log.h"

void init_outcome_missing(const struct init_report *report, struct isolation *ret)
{
    const struct {
        bool missing;
        const char *what;
    } rows[] = {
        { report->keeps_host_name, "a host name of its own" },
        { report->shares_inodes, MISSING_INODES },
        { report->keeps_oom_score, "ending first when the host is out of memory" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].missing)
            result_add_missing(ret, rows[i].what);
}

void init_outcome_steps(const struct init_report *report)
{
    for (size_t i = 0; i < REPORT_MAX_STEPS; i++)
        if (report->steps[i].name[0])
            log_debug("inside", "%.*s took %.3f ms", (int)sizeof(report->steps[i].name),
                      report->steps[i].name, (double)report->steps[i].us / 1000);
    if (report->progress)
        log_debug("inside", "handing out took %.3f ms of CPU time",
                  (double)(report->own_user_us + report->own_system_us) / 1000);
}
