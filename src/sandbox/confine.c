#include "sandbox/confine.h"

#include <stdio.h>

#include "base/clock.h"

/* clang-format off */
static const struct confiner *const steps[] = {
    &network_start_confiner, /* goes on beside the next two                             */
    &namespaces_confiner,   /* ids and host name of the new namespaces                  */
    &mounts_confiner,       /* the private root; afterwards no host path can be named    */
    &network_confiner,
    &cgroup_confiner,       /* before the first byte of the program is stored            */
    &program_confiner,
    &rlimits_confiner,
    &identity_confiner,     /* after it, nothing that needs a capability works           */
    &no_new_privs_confiner, /* the next two are refused without it                       */
    &landlock_confiner,     /* after mounts: its rules name the new root                 */
    &seccomp_confiner,      /* after all others: it forbids what they need               */
    &open_files_confiner,   /* allowed by every policy; after what opens something       */
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

_Static_assert(ARRAY_LEN(steps) <= REPORT_MAX_STEPS, "every step has a place in the report");

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
 * measure and remove what the program made: there the last steps are the program's own.  How many files
 * may be open always is. */
static bool is_left_to_program(const struct plan *plan, const struct confiner *step)
{
    return step == &open_files_confiner ||
           (plan->place &&
            (step == &rlimits_confiner || step == &landlock_confiner || step == &seccomp_confiner));
}

static int take_steps(struct inside *in, bool as_program, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (is_left_to_program(in->plan, steps[i]) == as_program &&
            !plan_leaves_out(in->plan, steps[i]->name) &&
            take_step(in, steps[i], &in->report->steps[i], err) < 0)
            return err->code;
    return 0;
}

int confine_self(struct inside *in, sbr_error *err)
{
    return take_steps(in, false, err);
}

int confine_program(struct inside *in, sbr_error *err)
{
    return take_steps(in, true, err);
}
