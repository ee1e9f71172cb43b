#include "confine/confine.h"

#include <stdio.h>

#include "base/clock.h"
#include "plan/filter.h"

#define RUN (1u << ROLE_RUN)
#define FACTORY (1u << ROLE_FACTORY)
#define SHELL (1u << ROLE_SHELL)

/* clang-format off */
static const struct step {
    const struct confiner *confiner;
    unsigned int roles;
} steps[] = {
    { &network_start_confiner,       RUN | SHELL }, /* a helper task runs beside the next steps */
    { &namespaces_confiner,          RUN         }, /* ids and host name of the new namespaces  */
    { &factory_namespaces_confiner,  FACTORY     },
    { &shell_namespaces_confiner,    SHELL       },
    { &mounts_confiner,              RUN         }, /* the private root; afterwards no host path */
    { &factory_mounts_confiner,      FACTORY     }, /* what all sandboxes of a blueprint share   */
    { &shell_mounts_confiner,        SHELL       }, /* what each sandbox has alone               */
    { &network_confiner,             RUN | SHELL },
    { &cgroup_confiner,              RUN         }, /* before the program's first byte is stored */
    { &shell_cgroup_confiner,        SHELL       },
    { &program_confiner,             RUN         }, /* a shell gets its files with ORDER_GO */
    { &pty_confiner,                 RUN         }, /* before a process inside could prepare it */
    { &rlimits_confiner,             RUN         },
    { &shell_rlimits_confiner,       SHELL       },
    { &identity_confiner,            RUN | SHELL }, /* after it, no capability is left            */
    { &no_new_privs_confiner,        RUN | SHELL }, /* the kernel refuses the next two without it */
    { &landlock_confiner,            RUN | SHELL }, /* after mounts: its rules name the new root  */
    { &seccomp_confiner,             RUN | SHELL }, /* last but one: it forbids what others need  */
    { &open_files_confiner,          RUN | SHELL }, /* all policies allow it; others open files   */
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

/* The next free entry of the report; entries that do not fit are lost. */
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

/* True for steps that init must not take itself, so that the program's process takes
 * them before its exec:
 *   - without a pid namespace or a private root (`place`), init must still signal the processes,
 *     and measure and remove the files of the program;
 *   - the filter, where init has to set limits of a driver that runs already;
 *   - Landlock, where the driver comes from a zygote, because signals do not pass between two
 *     domains, and where init still has to write an artifact;
 *   - the number of open files, always. */
static bool is_left_to_program(const struct inside *in, const struct confiner *step)
{
    if (step == &rlimits_confiner)
        return in->plan->run_dir;
    if (step == &landlock_confiner)
        return in->plan->run_dir || in->late_landlock;
    if (step == &seccomp_confiner)
        return in->plan->run_dir || in->late_filter;
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

/* True when init has to write where the program must not. */
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
        in->late_filter = plan->standby != STANDBY_SHELL ||
                          filter_eval_forbids_messages(plan->filters, plan->n_filters);
        in->late_landlock = plan->standby == STANDBY_ZYGOTE || has_artifact(plan);
    }
    return take_steps(in, false, err);
}

int confine_program(struct inside *in, sbr_error *err)
{
    return take_steps(in, true, err);
}
