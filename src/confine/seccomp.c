/* The system call filter: bytes that were compiled when the project was built.
 *
 * With a listener the supervisor learns what is refused: in the loaded copy, refusals worth a
 * report become questions to it, which it answers with the original error
 * (monitor/seccomp_notify.c).  If the supervisor is gone, the kernel answers ENOSYS.  A program
 * gains nothing from this: whatever the supervisor answers, the refused call is never made. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/arch.h"
#include "confine/confiner.h"
#include "plan/filter.h"

_Static_assert(sizeof(struct policy_insn) == sizeof(struct sock_filter),
               "same layout as the kernel");

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Instructions before the policy's own, see seccomp_put_gate(). */
#define GATE_LEN 7

/* Not on the stack, which is small where the program's process loads the filter. */
static struct sock_filter copy[GATE_LEN + BPF_MAXINSNS];

struct copying {
    bool reported; /* refusals become questions to the supervisor      */
    bool last;     /* no filter follows: a call that passes is allowed */
};

static void seccomp_probe(struct features *features)
{
    unsigned int action = SECCOMP_RET_KILL_PROCESS;

    features->seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Errors that programs expect are not reported to the supervisor. */
static uint32_t answer_reported(uint32_t answer)
{
    bool plain =
        answer == (SECCOMP_RET_ERRNO | EPERM) || answer == (SECCOMP_RET_ERRNO | EAFNOSUPPORT);

    return plain ? SECCOMP_RET_USER_NOTIF : answer;
}

/* Without a listener.  Network calls may go on to the kernel where they cannot reach the
 * host's network: in a network namespace, or where no socket can be made
 * (policies/process.yaml is laid over). */
static uint32_t answer_unreported(const struct plan *plan, uint32_t answer)
{
    bool nowhere = plan->run_dir || plan->namespaces & CLONE_NEWNET;

    if (answer == POLICY_COUNT)
        return SECCOMP_RET_ERRNO | (answer & SECCOMP_RET_DATA);
    if (answer != SECCOMP_RET_USER_NOTIF)
        return answer;
    return nowhere ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | ENETUNREACH;
}

/* A filter that is laid over a policy leaves the counting to the policy. */
static uint32_t answer_loaded(const struct plan *plan, struct copying how, uint32_t answer)
{
    if (!how.last && answer == POLICY_COUNT)
        return SECCOMP_RET_ALLOW;
    return how.reported ? answer_reported(answer) : answer_unreported(plan, answer);
}

/* Appends one filter to the copy.  Where it allows a call, it jumps to the next filter, which
 * begins right behind it. */
static size_t seccomp_add(const struct plan *plan, const struct policy_filter *filter, size_t at,
                          struct copying how)
{
    struct sock_filter *to = copy + GATE_LEN + at;

    for (size_t i = 0; i < filter->len; i++) {
        const struct policy_insn *insn = &filter->insns[i];

        to[i] = (struct sock_filter){ insn->code, insn->jt, insn->jf, insn->k };
        if (insn->code != (BPF_RET | BPF_K))
            continue;
        to[i].k = answer_loaded(plan, how, insn->k);
        if (!how.last && to[i].k == SECCOMP_RET_ALLOW)
            to[i] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(filter->len - i - 1));
    }
    return at + filter->len;
}

/* All filters of the plan as one, the last of them first: of several filters that the kernel holds,
 * the newest decides between answers of the same weight. */
static struct sock_fprog seccomp_copy(const struct plan *plan, bool reported)
{
    size_t len = 0;

    for (size_t i = plan->n_filters; i-- > 0;)
        len = seccomp_add(plan, &plan->filters[i], len, (struct copying){ reported, i == 0 });
    return (struct sock_fprog){ .len = (unsigned short)len, .filter = copy + GATE_LEN };
}

/* One answer for sendmsg and one for seccomp; other calls go on to what follows. */
static void seccomp_put_gate(uint32_t sending, uint32_t loading)
{
    const struct sock_filter gate[GATE_LEN] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, sending),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, loading),
    };

    for (size_t i = 0; i < GATE_LEN; i++)
        copy[i] = gate[i];
}

static int seccomp_load(unsigned long flags, const struct sock_fprog *program)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
}

static int seccomp_listen(const struct sock_fprog *program)
{
    const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    int fd = seccomp_load(flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);

    return fd < 0 && errno == EINVAL ? seccomp_load(flags, program) : fd;
}

/* The listener has to be sent after the filter is loaded.  A policy that refuses
 * sendmsg is therefore loaded behind a gate that allows sendmsg and seccomp; the second
 * filter closes the gate.
 *
 * *ret is false when the kernel gives no listener: it is too old, or an outer
 * filter has one (EBUSY). */
static int seccomp_load_reported(struct inside *in, bool *ret, sbr_error *err)
{
    const struct init_news news = { NEWS_LISTENER };
    uint32_t sending = filter_eval_number(&in->plan->filters[0], SYS_sendmsg);
    uint32_t loading = filter_eval_number(&in->plan->filters[0], SYS_seccomp);
    bool gated = sending != SECCOMP_RET_ALLOW;
    struct sock_fprog program = seccomp_copy(in->plan, true);
    scoped_fd int listener = -1;

    if (gated) {
        seccomp_put_gate(SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW);
        program.filter = copy;
        program.len += GATE_LEN;
    }
    listener = seccomp_listen(&program);
    *ret = listener >= 0;
    if (!*ret)
        return 0;
    if (fd_send(in->control_fd, &news, sizeof(news), &listener, 1) < 0)
        return err_set_errno(err, "seccomp", "cannot hand out the listener of the filter");
    if (!gated)
        return 0;
    seccomp_put_gate(sending, loading);
    copy[GATE_LEN] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = GATE_LEN + 1;
    if (seccomp_load(0, &program) < 0)
        return err_set_errno(err, "seccomp", "cannot load the second system call filter");
    return 0;
}

/* Each filter can only refuse more than the others: loaded as one, all of
 * them share the listener. */
static int seccomp_apply(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;
    struct sock_fprog program;
    bool reported = false;

    if (plan->n_filters == 0)
        return err_set(err, SBR_E_BUG, "seccomp", "the plan has no system call filter");
    if (plan_filter_len(plan) + GATE_LEN > BPF_MAXINSNS)
        return err_set(err, SBR_E_BUG, "seccomp", "the system call filters are too long");
    if (plan->report && seccomp_load_reported(in, &reported, err) < 0)
        return err->code;
    if (reported)
        return 0;
    program = seccomp_copy(plan, false);
    if (seccomp_load(0, &program) < 0)
        return err_set_errno(err, "seccomp", "cannot load the system call filter");
    return 0;
}

const struct confiner seccomp_confiner = { "seccomp", seccomp_probe, seccomp_apply };
