/* Long texts for a reader that may take its time. */
#ifndef CLI_PATIENT_OUTPUT_H
#define CLI_PATIENT_OUTPUT_H

#include <stddef.h>

/* Writes all of it to stdout; 0, or -1 with errno.  Signals are events of the run's loop, which
 * nothing reads any more when the run is over; so while we wait for the reader, and only then, a
 * signal that asks us to end has its usual effect. */
int patient_output_write(const char *data, size_t len);

#endif
