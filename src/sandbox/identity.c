/* Identity: no capability in any set, securebits locked, no way to a new user namespace. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/confiner.h"

/* All rules about uid 0 off, nothing may be raised again, and none of it may be changed. */
#define LOCKED_BITS                                                                                \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                               \
     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |       \
     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* The filter refuses new user namespaces too; this holds even for a system call that it misses. */
static int forbid_user_namespaces(struct inside *in, sbr_error *err)
{
    if (!(in->plan->namespaces & CLONE_NEWUSER) || in->proc_fd < 0)
        return 0;
    if (fd_write_small(in->proc_fd, "sys/user/max_user_namespaces", "0") < 0)
        return err_set_errno(err, "identity", "cannot forbid new user namespaces");
    return 0;
}

static int drop_bounding_set(sbr_error *err)
{
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return err_set_errno(err, "identity", "cannot drop capability %lu", cap);
    return 0;
}

static int identity_apply(struct inside *in, sbr_error *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 } };

    if (forbid_user_namespaces(in, err) < 0)
        return err->code;
    if (prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0) < 0)
        return err_set_errno(err, "identity", "cannot lock the securebits");
    if (drop_bounding_set(err) < 0)
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
