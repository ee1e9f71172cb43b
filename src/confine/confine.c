#include "confine/confine.h"

#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "plan/filter_eval.h"

#define RUN (1u << ROLE_RUN)
#define NURSERY (1u << ROLE_FACTORY)
#define SHELL (1u << ROLE_SHELL)

/* clang-format off */
static const struct step {
    const struct confiner *confiner;
    unsigned int roles;
} steps[] = {
    { &network_start_confiner,       RUN | SHELL }, /* goes on beside the next two                             */
    { &namespaces_confiner,          RUN         }, /* ids and host name of the new namespaces                 */
    { &factory_namespaces_confiner,  NURSERY     },
    { &shell_namespaces_confiner,    SHELL       },
    { &mounts_confiner,              RUN         }, /* the private root; afterwards no host path can be named   */
    { &factory_mounts_confiner,      NURSERY     }, /* what all sandboxes of a template can share of it         */
    { &shell_mounts_confiner,        SHELL       }, /* and what is each one's own                               */
    { &network_confiner,             RUN | SHELL },
    { &cgroup_confiner,              RUN         }, /* before the first byte of the program is stored           */
    { &shell_cgroup_confiner,        SHELL       },
    { &program_confiner,             RUN         }, /* a shell's come with ORDER_GO                             */
    { &rlimits_confiner,             RUN         },
    { &shell_rlimits_confiner,       SHELL       },
    { &identity_confiner,            RUN | SHELL }, /* after it, nothing that needs a capability works          */
    { &no_new_privs_confiner,        RUN | SHELL }, /* the next two are refused without it                      */
    { &landlock_confiner,            RUN | SHELL }, /* after mounts: its rules name the new root                */
    { &seccomp_confiner,             RUN | SHELL }, /* after all others: it forbids what they need              */
    { &open_files_confiner,          RUN | SHELL }, /* allowed by every policy; after what opens something      */
};
/* clang-format on */

#ifdef SBR_TEST_HOOKS
static int fail_on_request(const struct inside *in, const char *name, sbr_error *err)
{
    if (!plan_list_has(in->plan->test_fail, name))
        return 0;
    return err_set(err, SBR_E_SYSTEM, name, "failed because a test asked for it");
}
#else
static int fail_on_request(const struct inside *in, const char *name, sbr_error *err)
{
    (void)in;
    (void)name;
    (void)err;
    return 0;
}
#endif

/* The next free place in the report. */
static struct step_time *place_for(struct init_report *report)
{
    static struct step_time nowhere;

    for (size_t i = 0; i < REPORT_MAX_STEPS; i++)
        if (!report->steps[i].name[0])
            return &report->steps[i];
    return &nowhere;
}

static int take_step(struct inside *in, const struct confiner *step, struct step_time *time,
                     sbr_error *err)
{
    uint64_t before = clock_now_us();
    int r = fail_on_request(in, step->name, err);

    if (r == 0)
        r = step->apply(in, err);
    snprintf(time->name, sizeof(time->name), "%s", step->name);
    time->us = (uint32_t)(clock_now_us() - before);
    return r;
}

/* Without a pid namespace init has to reach what it ends, and without a root of its own it has to
 * measure and remove what the program made: there the last steps are the program's own.  So is the filter where init
 * has to set the limits of a driver that runs already, and Landlock where that one comes from a zygote, since signals do not
 * pass between two domains, or where init brings an artifact in.  How many files may be open always is. */
static bool is_left_to_program(const struct inside *in, const struct confiner *step)
{
    if (step == &rlimits_confiner)
        return in->plan->place;
    if (step == &landlock_confiner)
        return in->plan->place || in->late_landlock;
    if (step == &seccomp_confiner)
        return in->plan->place || in->late_filter;
    return step == &open_files_confiner;
}

static int take_steps(struct inside *in, bool as_program, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        const struct confiner *step = steps[i].confiner;

        if (steps[i].roles & 1u << in->role && is_left_to_program(in, step) == as_program &&
            !plan_leaves_out(in->plan, step->name) &&
            take_step(in, step, place_for(in->report), err) < 0)
            return err->code;
    }
    return 0;
}

/* Orders to a parked one come with descriptors, and its news go the same way. */
static bool forbids_standby(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_filters; i++)
        if (filter_eval_number(&plan->filters[i], SYS_recvmsg) != SECCOMP_RET_ALLOW ||
            filter_eval_number(&plan->filters[i], SYS_sendmsg) != SECCOMP_RET_ALLOW)
            return true;
    return false;
}

/* Whether init has to write where the program must not. */
static bool has_artifact(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].flags & OP_APART)
            return true;
    return false;
}

int confine_self(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;

    if (in->role == ROLE_SHELL) {
        in->late_filter = plan->park != STANDBY_SHELL || forbids_standby(plan);
        in->late_landlock = plan->park == STANDBY_ZYGOTE || has_artifact(plan);
    }
    return take_steps(in, false, err);
}

int confine_program(struct inside *in, sbr_error *err)
{
    return take_steps(in, true, err);
}
