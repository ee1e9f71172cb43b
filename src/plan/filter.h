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
#include "plan/bpf.h"
#include "plan/policy_file.h"

/* `base` answers for the calls that `file` does not name; NULL: none. */
int filter_build(const struct arch *arch, const struct policy_file *base,
                 const struct policy_file *file, struct bpf *ret_program, sbr_error *err)
    must_check;

#endif
