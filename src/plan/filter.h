/* Turns a policy's rules into a BPF program.
 *
 *   architecture ---other---> kill
 *        | ours
 *   search tree over ranges of numbers with one answer
 *        |                         \
 *     answer                   the rules of one call, in order ---> answer
 *
 * Every number has an answer before the tree is made: numbers of another ABI (x32) are one more
 * range, not a special case.  When a filter is installed, the kernel emulates the tree once for
 * each number (from 5.11 on, to remember calls that are always allowed), so the tree is kept
 * flat. */
#ifndef PLAN_FILTER_H
#define PLAN_FILTER_H

#include <linux/seccomp.h>

#include "plan/bpf.h"
#include "plan/policy.h"
#include "plan/policy_file.h"

/* `base` answers for the calls that `file` does not name; NULL: none. */
int filter_build(const struct arch *arch, const struct policy_file *base,
                 const struct policy_file *file, struct bpf *ret_program, sbr_error *err)
    must_check;

/* Evaluates a filter: classic BPF over struct seccomp_data, as far as our filters use it. */

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
