#include "front/front_internal.h"

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/landlock_calls.h"

static int confine_identity(uint32_t uid, sbr_error *err)
{
    if (uid == 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        return err_set_errno(err, "front", "cannot become user %u", uid);
    return 0;
}

/* No rule follows: a front opens nothing and connects nowhere. */
static int confine_files(sbr_error *err)
{
    int abi = landlock_abi();
    scoped_fd int ruleset = -1;
    uint64_t handled;

    if (abi == 0)
        return 0; /* a second layer, where the kernel has it */
    ruleset = landlock_create(abi, 0, LANDLOCK_BIND_TCP | LANDLOCK_CONNECT_TCP, &handled);
    if (ruleset < 0 || landlock_enforce(ruleset) < 0)
        return err_set_errno(err, "front", "cannot give up the files");
    return 0;
}

static int confine_calls(const void *filter, size_t size, sbr_error *err)
{
    const struct sock_fprog program = { .len = (unsigned short)(size / sizeof(struct sock_filter)),
                                        .filter = (struct sock_filter *)filter };

    if (size == 0 || size % sizeof(struct sock_filter) != 0 ||
        size / sizeof(struct sock_filter) > BPF_MAXINSNS)
        return err_set(err, SBR_E_BUG, "front", "there is no system call filter");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return err_set_errno(err, "front", "cannot load the system call filter");
    return 0;
}

int front_confine(uint32_t uid, const void *filter, size_t size, sbr_error *err)
{
    const struct rlimit none = { 0, 0 };

    (void)setrlimit(RLIMIT_CORE, &none);
    if (confine_identity(uid, err) < 0)
        return err->code;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "front", "cannot give up privileges");
    if (confine_files(err) < 0)
        return err->code;
    return confine_calls(filter, size, err);
}
