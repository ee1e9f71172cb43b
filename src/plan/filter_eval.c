#include "plan/filter.h"

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/arch.h"

/* The number of instructions that a jump skips. */
static size_t jump_len(const struct policy_insn *insn, uint32_t a)
{
    switch (BPF_OP(insn->code)) {
    case BPF_JA:
        return insn->k;
    case BPF_JEQ:
        return a == insn->k ? insn->jt : insn->jf;
    case BPF_JGE:
        return a >= insn->k ? insn->jt : insn->jf;
    case BPF_JGT:
        return a > insn->k ? insn->jt : insn->jf;
    case BPF_JSET:
        return a & insn->k ? insn->jt : insn->jf;
    default:
        return SIZE_MAX;
    }
}

uint32_t filter_eval(const struct policy_filter *filter, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (size_t at = 0; at < filter->len; at++) {
        const struct policy_insn *insn = &filter->insns[at];
        size_t left = filter->len - at - 1, len;

        switch (insn->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (insn->k > sizeof(*data) - sizeof(a))
                return SECCOMP_RET_KILL_PROCESS;
            memcpy(&a, (const char *)data + insn->k, sizeof(a));
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= insn->k;
            break;
        case BPF_RET | BPF_K:
            return insn->k;
        default:
            if (BPF_CLASS(insn->code) != BPF_JMP || BPF_SRC(insn->code) != BPF_K)
                return SECCOMP_RET_KILL_PROCESS;
            len = jump_len(insn, a);
            if (len >= left)
                return SECCOMP_RET_KILL_PROCESS;
            at += len;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

uint32_t filter_eval_number(const struct policy_filter *filter, int number)
{
    const struct seccomp_data data = { .nr = number, .arch = ARCH_AUDIT };

    return filter_eval(filter, &data);
}

/* The kernel's order, strictest first: signed, so that killing the process precedes the rest. */
static int32_t action_of(uint32_t answer)
{
    return (int32_t)(answer & SECCOMP_RET_ACTION_FULL);
}

size_t filter_eval_all(const struct policy_filter *filters, size_t n,
                       const struct seccomp_data *data, uint32_t *ret_answer)
{
    size_t decides = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t answer = filter_eval(&filters[i], data);

        if (i > 0 && action_of(answer) > action_of(*ret_answer))
            continue;
        *ret_answer = answer;
        decides = i;
    }
    return decides;
}

bool filter_eval_forbids_messages(const struct policy_filter *filters, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (filter_eval_number(&filters[i], SYS_recvmsg) != SECCOMP_RET_ALLOW ||
            filter_eval_number(&filters[i], SYS_sendmsg) != SECCOMP_RET_ALLOW)
            return true;
    return false;
}
