#include "egress/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"

/* The kernel's interface as of ABI 6; headers of the build machine may be older. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define NET_BIND_TCP 1ULL
#define SCOPE_ALL 3ULL /* abstract sockets and signals */

/* Enough for all connections, their pipes, all flows and what the resolver opens. */
#define FILES 2560

struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

/* Rights that each ABI knows, and how much of the attribute. */
static size_t handled_rights(long abi, struct ruleset_attr *attr)
{
    static const unsigned int fs_bits[] = { 13, 14, 15, 15, 16 }; /* by ABI, from 1 */
    size_t index = (size_t)(abi > 5 ? 5 : abi) - 1;

    *attr = (struct ruleset_attr){ .handled_access_fs = (1ULL << fs_bits[index]) - 1 };
    attr->handled_access_net = abi >= 4 ? NET_BIND_TCP : 0;
    attr->scoped = abi >= 6 ? SCOPE_ALL : 0;
    if (abi >= 6)
        return sizeof(*attr);
    return abi >= 4 ? offsetof(struct ruleset_attr, scoped)
                    : offsetof(struct ruleset_attr, handled_access_net);
}

static void allow_reading(int ruleset, const char *path)
{
    scoped_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct path_beneath_attr attr = { .allowed_access = FS_READ_FILE | FS_READ_DIR,
                                      .parent_fd = fd };

    if (fd >= 0) /* what is not there cannot be read */
        syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0);
}

/* resolv.conf may be a link to a file that is put in place anew, so it is the directory that counts. */
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

static int confine_files(sbr_error *err)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
    struct ruleset_attr attr;
    scoped_fd int ruleset = -1;
    size_t size;

    if (abi <= 0)
        return 0; /* a second layer, where the kernel has it */
    size = handled_rights(abi, &attr);
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return err_set_errno(err, "egress", "cannot create a ruleset");
    allow_resolver_files(ruleset);
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
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

int confine_process(uint32_t uid, uint32_t gid, sbr_error *err)
{
    confine_limits();
    if (confine_identity(uid, gid, err) < 0)
        return err->code;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "egress", "cannot give up privileges");
    return confine_files(err);
}

int confine_calls(const void *filter, size_t size, sbr_error *err)
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
