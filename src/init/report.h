/* What init tells the supervisor, in the page that they share. */
#ifndef INIT_REPORT_H
#define INIT_REPORT_H

#include "sandbox/confiner.h"
#include "sandbox/protocol.h"

/* Maps the page and closes its descriptor; NULL when that is impossible. */
struct init_report *report_open(void);

/* What was read and written, by init and by everything that was waited for. */
struct io_count {
    uint64_t read, written;
};

struct io_count report_io(const struct inside *in);
/* Resources of all that was reaped, and how full the scratch space is.  `before` is what init
 * itself had read and written when the program started. */
void report_end(struct init_report *report, const struct inside *in, struct io_count before);

#endif
