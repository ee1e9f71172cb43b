/* What init reports to the supervisor, in the page that they share. */
#ifndef INIT_REPORT_H
#define INIT_REPORT_H

#include "confine/confiner.h"
#include "wire/control.h"

/* Maps the page and closes its file descriptor; NULL on failure. */
struct init_report *report_open(void);

/* Usage before the program started. */
struct usage_before {
    uint64_t read, written; /* by init and by all children that it waited for     */
    uint64_t switches;      /* of a driver, which runs before it gets its program */
};

struct usage_before report_usage(const struct inside *in);
/* The same, plus the usage of a waiting driver. */
struct usage_before report_usage_with(const struct inside *in, pid_t driver);
/* What counts from now on is the program's. */
void report_begin(struct init_report *report, struct usage_before before);
/* Reports the resources of all reaped processes, and whether the scratch space is full. */
void report_end(struct init_report *report, const struct inside *in, struct usage_before before);

#endif
