/* How egress confines itself before it reads a byte that the program sent. */
#ifndef EGRESS_EGRESS_CONFINE_H
#define EGRESS_EGRESS_CONFINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* First, while there is one thread: becomes another user (0: stays), sets no new privileges, and
 * keeps only the files that looking up a name reads. */
int egress_confine_process(uint32_t uid, uint32_t gid, sbr_error *err) must_check;
/* Last, for all threads: allows only the system calls of policies/egress.yaml. */
int egress_confine_calls(const void *filter, size_t size, sbr_error *err) must_check;

#endif
