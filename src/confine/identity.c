/* Identity: no capability in any set, securebits locked, no new privileges. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confiner.h"

/* Turns off all rules about uid 0, forbids raising capabilities again, and locks both. */
#define LOCKED_BITS                                                                                \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                               \
     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |       \
     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int drop_bounding_set(sbr_error *err)
{
    unsigned long cap = 0;

    while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
        cap++;
    if (errno != EINVAL || cap <= CAP_AUDIT_READ) /* EINVAL: this kernel has no more of them */
        return err_set_errno(err, "identity", "cannot drop capability %lu", cap);
    return 0;
}

/* Without a user namespace this process may lack the right to lock anything, and need not: all sets
 * are emptied below, and no_new_privs keeps exec from filling them. */
static bool cannot_lock(const struct plan *plan)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct now[2] = { { 0 } };

    return plan->run_dir && syscall(SYS_capget, &header, now) == 0 &&
           !(now[0].permitted & 1u << CAP_SETPCAP);
}

static int lock_privileges(sbr_error *err)
{
    if (prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0) < 0)
        return err_set_errno(err, "identity", "cannot lock the securebits");
    return drop_bounding_set(err);
}

static int identity_apply(struct inside *in, sbr_error *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 } };

    if (!cannot_lock(in->plan) && lock_privileges(err) < 0)
        return err->code;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_set_errno(err, "identity", "cannot clear the ambient capabilities");
    if (syscall(SYS_capset, &header, none) < 0)
        return err_set_errno(err, "identity", "cannot give up capabilities");
    return 0;
}

static int no_new_privs_apply(struct inside *in, sbr_error *err)
{
    (void)in;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "no-new-privs", "cannot forbid new privileges");
    return 0;
}

const struct confiner identity_confiner = { "identity", NULL, identity_apply };
const struct confiner no_new_privs_confiner = { "no-new-privs", NULL, no_new_privs_apply };
