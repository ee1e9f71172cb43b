/* An assembler for classic BPF that works from the end to the start.
 *
 * A classic jump only goes forward, so in this order every target exists before the jump to it, and
 * its distance is known at once.  A label is the index of an instruction, counted from the end. */
#ifndef PLAN_BPF_H
#define PLAN_BPF_H
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/policy.h"

#define BPF_ANSWERS_MAX 16

struct bpf {
    struct policy_insn code[BPF_MAXINSNS]; /* the last instruction first */
    size_t len;
    bool full; /* sticky: too many instructions for the kernel, or too many different answers */
    struct {
        uint32_t action;
        size_t label; /* the copy nearest to the start */
    } answers[BPF_ANSWERS_MAX];
    size_t answers_len;
};

typedef size_t bpf_label;

void bpf_init(struct bpf *p);

/* Ends with SECCOMP_RET_*. */
bpf_label bpf_answer(struct bpf *p, uint32_t action);
/* Loads the word at `offset` of struct seccomp_data, masks it with `mask`, and goes on. */
bpf_label bpf_load(struct bpf *p, uint32_t offset, uint32_t mask, bpf_label next);
/* Compares: `op` is BPF_JEQ, BPF_JGE, ... */
bpf_label bpf_branch(struct bpf *p, uint16_t op, uint32_t k, bpf_label yes, bpf_label no);

/* Reverses the instructions into running order. */
void bpf_finish(struct bpf *p);

#endif
