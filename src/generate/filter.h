/* From what a policy says to what the kernel runs.
 *
 *   architecture ---other---> kill
 *        | ours
 *   search tree over ranges of numbers with one answer
 *        |                         \
 *     answer                   the rules of one call, in order ---> answer
 *
 * Every number has an answer before a tree is made: numbers of another ABI (x32) are one more range
 * and no special case.  The tree is what the kernel emulates once per number when a filter is
 * installed (since 5.11, to remember the calls that are always allowed), so it is kept flat. */
#ifndef GENERATE_FILTER_H
#define GENERATE_FILTER_H
#include "generate/bpf.h"
#include "generate/policy_file.h"

/* `base` answers for the calls that `file` does not name; NULL: there is none. */
int filter_build(const struct arch *arch, const struct policy_file *base,
                 const struct policy_file *file, struct bpf *ret_program, sbr_error *err)
    must_check;

#endif
