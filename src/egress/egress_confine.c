#include "egress/egress_confine.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/landlock_calls.h"
#include "base/scope.h"

/* Enough for all connections, their pipes, all flows and what the resolver opens. */
#define FILES 2560

static void allow_reading(int ruleset, const char *path)
{
    scoped_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) /* a missing directory needs no rule */
        (void)landlock_allow(ruleset, fd, LANDLOCK_READ_FILE | LANDLOCK_READ_DIR);
}

/* resolv.conf may be a link to a file that gets replaced, so the rule is for its directory. */
static void allow_resolver_files(int ruleset)
{
    char path[PATH_MAX], *slash;

    allow_reading(ruleset, "/etc");
    if (!realpath("/etc/resolv.conf", path))
        return;
    slash = strrchr(path, '/');
    if (slash != path) {
        *slash = '\0';
        allow_reading(ruleset, path);
    }
}

/* Egress connects where decide.c allows it, but it serves no one, so it may not bind TCP ports. */
static int confine_files(sbr_error *err)
{
    int abi = landlock_abi();
    scoped_fd int ruleset = -1;
    uint64_t handled;

    if (abi == 0)
        return 0; /* a second layer, where the kernel has it */
    ruleset = landlock_create(abi, LANDLOCK_BIND_TCP, &handled);
    if (ruleset < 0)
        return err_set_errno(err, "egress", "cannot create a ruleset");
    allow_resolver_files(ruleset);
    if (landlock_enforce(ruleset) < 0)
        return err_set_errno(err, "egress", "cannot give up the files");
    return 0;
}

static int confine_identity(uint32_t uid, uint32_t gid, sbr_error *err)
{
    if (geteuid() != 0 || uid == 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return err_set_errno(err, "egress", "cannot become user %u", uid);
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

int egress_confine_process(uint32_t uid, uint32_t gid, sbr_error *err)
{
    confine_limits();
    if (confine_identity(uid, gid, err) < 0)
        return err->code;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "egress", "cannot give up privileges");
    return confine_files(err);
}

int egress_confine_calls(const void *filter, size_t size, sbr_error *err)
{
    struct sock_fprog program = { .len = (unsigned short)(size / sizeof(struct sock_filter)),
                                  .filter = (struct sock_filter *)filter };
    long r;

    if (size == 0 || size % sizeof(struct sock_filter) != 0 ||
        size / sizeof(struct sock_filter) > BPF_MAXINSNS)
        return err_set(err, SBR_E_BUG, "egress", "there is no system call filter");
    r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (r < 0)
        return err_set_errno(err, "egress", "cannot load the system call filter");
    if (r > 0)
        return err_set(err, SBR_E_SYSTEM, "egress",
                       "a thread does not take the system call filter");
    return 0;
}
