#include "base/helper_confine.h"

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/landlock_calls.h"

/* Enough for all connections of either helper, their pipes, all flows and what the resolver
 * opens. */
#define FILES 2560

/* A helper may not bind TCP ports: what it listens on was made for it. */
static int confine_files(helper_confine_files *allow, sbr_error *err)
{
    int abi = landlock_abi();
    scoped_fd int ruleset = -1;
    uint64_t handled;

    if (abi == 0)
        return 0; /* a second layer, where the kernel has it */
    ruleset = landlock_create(abi, 0, LANDLOCK_BIND_TCP, &handled);
    if (ruleset < 0)
        return err_set_errno(err, "confine", "cannot create a ruleset");
    if (allow)
        allow(ruleset);
    if (landlock_enforce(ruleset) < 0)
        return err_set_errno(err, "confine", "cannot give up the files");
    return 0;
}

static int confine_identity(uint32_t uid, uint32_t gid, sbr_error *err)
{
    if (geteuid() != 0 || uid == 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return err_set_errno(err, "confine", "cannot become user %u", uid);
    return 0;
}

static void confine_limits(void)
{
    const struct rlimit none = { 0, 0 };
    struct rlimit files;

    (void)setrlimit(RLIMIT_CORE, &none);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* with fewer, connections wait for each other */
    }
}

int helper_confine_process(uint32_t uid, uint32_t gid, helper_confine_files *allow, sbr_error *err)
{
    confine_limits();
    if (confine_identity(uid, gid, err) < 0)
        return err->code;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "confine", "cannot give up privileges");
    return confine_files(allow, err);
}

int helper_confine_calls(const void *filter, size_t size, sbr_error *err)
{
    struct sock_fprog program = { .len = (unsigned short)(size / sizeof(struct sock_filter)),
                                  .filter = (struct sock_filter *)filter };
    long r;

    if (size == 0 || size % sizeof(struct sock_filter) != 0 ||
        size / sizeof(struct sock_filter) > BPF_MAXINSNS)
        return err_set(err, SBR_E_BUG, "confine", "there is no system call filter");
    r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (r < 0)
        return err_set_errno(err, "confine", "cannot load the system call filter");
    if (r > 0)
        return err_set(err, SBR_E_SYSTEM, "confine",
                       "a thread does not take the system call filter");
    return 0;
}
