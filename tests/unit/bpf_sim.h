/* The kernel's side of a seccomp filter: its checks, and a machine that runs it. */
#ifndef TESTS_BPF_SIM_H
#define TESTS_BPF_SIM_H
#include <linux/seccomp.h>
#include <stdbool.h>

#include "plan/policy.h"

/* What no filter answers: the program ran wild. */
#define BPF_SIM_WILD 0xdeadbeefU

/* As seccomp(2) checks it: known instructions, jumps inside, aligned loads, an answer at the end.
 */
bool bpf_sim_accepts(struct policy_filter filter);

/* SECCOMP_RET_*, or BPF_SIM_WILD.  *ret_steps (when not NULL) counts instructions. */
uint32_t bpf_sim_run(struct policy_filter filter, const struct seccomp_data *data,
                     unsigned *ret_steps);

#endif
