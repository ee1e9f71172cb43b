/* The system call filter: bytes that were compiled when the project was built. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/confiner.h"

_Static_assert(sizeof(struct policy_insn) == sizeof(struct sock_filter),
               "same layout as the kernel");

static void seccomp_probe(struct features *features)
{
    unsigned int action = SECCOMP_RET_KILL_PROCESS;

    features->seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Of several filters the strictest answer counts.  All that loading the next one needs is allowed by
 * every policy. */
static int seccomp_apply(struct inside *in, sbr_error *err)
{
    if (in->plan->n_filters == 0)
        return err_set(err, SBR_E_BUG, "seccomp", "the plan has no system call filter");
    for (size_t i = 0; i < in->plan->n_filters; i++) {
        const struct policy_filter *filter = &in->plan->filters[i];
        struct sock_fprog program = { .len = (unsigned short)filter->len,
                                      .filter = (struct sock_filter *)filter->insns };

        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
            return err_set_errno(err, "seccomp", "cannot load the system call filter");
    }
    return 0;
}

const struct confiner seccomp_confiner = { "seccomp", seccomp_probe, seccomp_apply };
