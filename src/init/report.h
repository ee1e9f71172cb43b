/* What init tells the supervisor, in the page that they share. */
#ifndef INIT_REPORT_H
#define INIT_REPORT_H

#include "confine/confiner.h"
#include "wire/control.h"

/* Maps the page and closes its descriptor; NULL when that is impossible. */
struct init_report *report_open(void);

/* What was used before the program began. */
struct usage_before {
    uint64_t read, written; /* by init and by everything that was waited for */
    uint64_t switches;      /* of a driver, which ran before its program came */
};

struct usage_before report_usage(const struct inside *in);
/* The same, with what a driver has used that is waiting now. */
struct usage_before report_usage_with(const struct inside *in, pid_t driver);
/* Resources of all that was reaped, and how full the scratch space is. */
void report_end(struct init_report *report, const struct inside *in, struct usage_before before);

#endif
