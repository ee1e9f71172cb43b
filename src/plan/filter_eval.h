/* Evaluates a filter: classic BPF over struct seccomp_data, as far as our filters use it. */
#ifndef PLAN_FILTER_EVAL_H
#define PLAN_FILTER_EVAL_H

#include <linux/seccomp.h>

#include "plan/policy.h"

/* SECCOMP_RET_*; SECCOMP_RET_KILL_PROCESS for a filter that leaves its bounds, as in the kernel. */
uint32_t filter_eval(const struct policy_filter *filter, const struct seccomp_data *data);

/* The same for a call number of this machine with all arguments 0. */
uint32_t filter_eval_number(const struct policy_filter *filter, int number);

/* True when a process under these filters can pass no file descriptors on: a standby gets its
 * orders and sends its news with them, and so does the init of a session. */
bool filter_eval_forbids_messages(const struct policy_filter *filters, size_t n);

/* The index of the filter that decides, as in the kernel: the strictest answer wins, and among
 * equals the last filter's.  *ret_answer is that answer; `n` is not 0. */
size_t filter_eval_all(const struct policy_filter *filters, size_t n,
                       const struct seccomp_data *data, uint32_t *ret_answer);

#endif
