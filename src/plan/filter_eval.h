/* What a filter answers: the kernel's machine for classic BPF over struct seccomp_data, as far as filters use it. */
#ifndef PLAN_FILTER_EVAL_H
#define PLAN_FILTER_EVAL_H

#include <linux/seccomp.h>

#include "plan/policy.h"

/* SECCOMP_RET_*; what runs wild ends the process there, so SECCOMP_RET_KILL_PROCESS here. */
uint32_t filter_eval(const struct policy_filter *filter, const struct seccomp_data *data);

/* The same for a number of this machine with all arguments 0. */
uint32_t filter_eval_number(const struct policy_filter *filter, int number);

/* Which of the filters decides, as the kernel has it: the strictest answer counts, and of several the last one's.
 * *ret_answer is that answer; `n` is not 0. */
size_t filter_eval_all(const struct policy_filter *filters, size_t n,
                       const struct seccomp_data *data, uint32_t *ret_answer);

#endif
