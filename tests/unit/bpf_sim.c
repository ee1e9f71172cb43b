#include "bpf_sim.h"

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <string.h>

static bool insn_is_accepted(const struct policy_insn *insn, size_t left)
{
    switch (insn->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        return insn->k % 4 == 0 && insn->k < sizeof(struct seccomp_data);
    case BPF_ALU | BPF_AND | BPF_K:
    case BPF_RET | BPF_K:
        return true;
    case BPF_JMP | BPF_JA:
        return insn->k < left;
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JSET | BPF_K:
        return insn->jt < left && insn->jf < left;
    default:
        return false;
    }
}

bool bpf_sim_accepts(struct policy_filter filter)
{
    if (filter.len == 0 || filter.len > BPF_MAXINSNS)
        return false;
    for (size_t i = 0; i < filter.len; i++) {
        if (!insn_is_accepted(&filter.insns[i], filter.len - i - 1))
            return false;
    }
    return filter.insns[filter.len - 1].code == (BPF_RET | BPF_K);
}

static size_t jump(const struct policy_insn *insn, uint32_t a)
{
    bool yes = false;

    switch (BPF_OP(insn->code)) {
    case BPF_JA:
        return insn->k;
    case BPF_JEQ:
        yes = a == insn->k;
        break;
    case BPF_JGE:
        yes = a >= insn->k;
        break;
    case BPF_JGT:
        yes = a > insn->k;
        break;
    case BPF_JSET:
        yes = (a & insn->k) != 0;
        break;
    }
    return yes ? insn->jt : insn->jf;
}

uint32_t bpf_sim_run(struct policy_filter filter, const struct seccomp_data *data,
                     unsigned *ret_steps)
{
    uint32_t a = 0;
    unsigned steps = 0;

    for (size_t pc = 0; pc < filter.len; pc++) {
        const struct policy_insn *insn = &filter.insns[pc];

        steps++;
        switch (BPF_CLASS(insn->code)) {
        case BPF_LD:
            if (insn->k + sizeof(a) > sizeof(*data))
                return BPF_SIM_WILD;
            memcpy(&a, (const char *)data + insn->k, sizeof(a));
            break;
        case BPF_ALU:
            a &= insn->k;
            break;
        case BPF_JMP:
            pc += jump(insn, a);
            break;
        case BPF_RET:
            if (ret_steps)
                *ret_steps = steps;
            return insn->k;
        default:
            return BPF_SIM_WILD;
        }
    }
    return BPF_SIM_WILD;
}
