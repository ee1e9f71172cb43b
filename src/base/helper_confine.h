/* How sandbox-run-egress and sandbox-run-publish confine themselves before they read a byte that
 * the program sent. */
#ifndef BASE_HELPER_CONFINE_H
#define BASE_HELPER_CONFINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Allows some files in a Landlock ruleset. */
typedef void helper_confine_files(int ruleset);

/* First, while there is one thread: becomes another user (0: stays), sets no new privileges, and
 * keeps only the files that `allow` names; NULL: none. */
int helper_confine_process(uint32_t uid, uint32_t gid, helper_confine_files *allow, sbr_error *err)
    must_check;
/* Last, for all threads: allows only the system calls of the helper's policy. */
int helper_confine_calls(const void *filter, size_t size, sbr_error *err) must_check;

#endif
