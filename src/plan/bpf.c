#include "plan/bpf.h"

#define REACH 255 /* a conditional jump has eight bits */

void bpf_init(struct bpf *p)
{
    p->len = 0;
    p->full = false;
    p->answers_len = 0;
}

static bpf_label bpf_add(struct bpf *p, struct policy_insn insn)
{
    if (p->len == BPF_MAXINSNS) {
        p->full = true;
        return p->len - 1;
    }
    p->code[p->len] = insn;
    return p->len++;
}

/* The number of instructions that one added now would skip. */
static size_t distance(const struct bpf *p, bpf_label target)
{
    return p->len - 1 - target;
}

/* Keeps one instruction in reserve because the other branch may need a jump of its own. */
static bool is_near(const struct bpf *p, bpf_label target)
{
    return distance(p, target) + 1 <= REACH;
}

bpf_label bpf_answer(struct bpf *p, uint32_t action)
{
    const struct policy_insn insn = { .code = BPF_RET | BPF_K, .k = action };
    size_t i = 0;

    while (i < p->answers_len && p->answers[i].action != action)
        i++;
    if (i < p->answers_len && is_near(p, p->answers[i].label))
        return p->answers[i].label;
    if (i == BPF_ANSWERS_MAX) {
        p->full = true;
        return 0;
    }
    if (i == p->answers_len)
        p->answers_len++;
    p->answers[i].action = action;
    p->answers[i].label = bpf_add(p, insn);
    return p->answers[i].label;
}

/* A label within reach that leads to the target.  Repeats an answer, which costs as much as a jump
 * to it and runs faster. */
static bpf_label bpf_bring_near(struct bpf *p, bpf_label target)
{
    if (p->full || is_near(p, target))
        return target;
    if (p->code[target].code == (BPF_RET | BPF_K))
        return bpf_answer(p, p->code[target].k);
    return bpf_add(p, (struct policy_insn){ .code = BPF_JMP | BPF_JA,
                                            .k = (uint32_t)distance(p, target) });
}

bpf_label bpf_load(struct bpf *p, uint32_t offset, uint32_t mask, bpf_label next)
{
    /* A load falls through, so `next` must follow it directly. */
    if (distance(p, next) != 0)
        bpf_add(p,
                (struct policy_insn){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)distance(p, next) });
    if (mask != UINT32_MAX)
        bpf_add(p, (struct policy_insn){ .code = BPF_ALU | BPF_AND | BPF_K, .k = mask });
    return bpf_add(p, (struct policy_insn){ .code = BPF_LD | BPF_W | BPF_ABS, .k = offset });
}

bpf_label bpf_branch(struct bpf *p, uint16_t op, uint32_t k, bpf_label yes, bpf_label no)
{
    struct policy_insn insn = { .code = (uint16_t)(BPF_JMP | op | BPF_K), .k = k };

    yes = bpf_bring_near(p, yes);
    no = bpf_bring_near(p, no);
    insn.jt = (uint8_t)distance(p, yes);
    insn.jf = (uint8_t)distance(p, no);
    return bpf_add(p, insn);
}

void bpf_finish(struct bpf *p)
{
    for (size_t i = 0; i < p->len / 2; i++) {
        struct policy_insn swap = p->code[i];

        p->code[i] = p->code[p->len - 1 - i];
        p->code[p->len - 1 - i] = swap;
    }
}
