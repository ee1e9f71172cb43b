/* Landlock: a second layer over the file tree, and the only one where there are no namespaces.
 * All rights of the ABI found are handled; rules name paths of the new root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"
#include "sandbox/confiner.h"

/* The kernel's interface as of ABI 7; headers of the build machine may be older. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1

#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_ALL_ABI1 ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define NET_ALL_ABI4 3ULL         /* bind and connect of TCP */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define FS_OF_A_FILE (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define SCOPE_ALL_ABI6 3ULL /* abstract sockets and signals */

struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

static void landlock_probe(struct features *features)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);

    features->landlock_abi = abi > 0 ? (int)abi : 0;
}

/* Rights that each ABI added, and how much of the attribute it knows. */
static size_t handled_rights(int abi, bool network, struct ruleset_attr *attr)
{
    *attr = (struct ruleset_attr){ .handled_access_fs = FS_ALL_ABI1 };
    attr->handled_access_fs |= abi >= 2 ? FS_REFER : 0;
    attr->handled_access_fs |= abi >= 3 ? FS_TRUNCATE : 0;
    attr->handled_access_fs |= abi >= 5 ? FS_IOCTL_DEV : 0;
    attr->handled_access_net = !network && abi >= 4 ? NET_ALL_ABI4 : 0;
    attr->scoped = abi >= 6 ? SCOPE_ALL_ABI6 : 0;
    if (abi >= 6)
        return sizeof(*attr);
    return abi >= 4 ? offsetof(struct ruleset_attr, scoped)
                    : offsetof(struct ruleset_attr, handled_access_net);
}

static uint64_t rights_of(enum access_kind access, uint64_t handled)
{
    const uint64_t read = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;

    switch (access) {
    case ACCESS_READ:
        return read;
    case ACCESS_DEVICES:
        return (read | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV) & handled;
    case ACCESS_WRITE:
        return handled;
    }
    return 0;
}

static int add_rule(int ruleset, const struct plan_rule *rule, uint64_t handled, sbr_error *err)
{
    scoped_fd int fd = open(rule->path, O_PATH | O_CLOEXEC);
    struct path_beneath_attr attr = { .allowed_access = rights_of(rule->access, handled),
                                      .parent_fd = fd };
    struct stat st;

    if (fd < 0 && errno == ENOENT && rule->optional)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "landlock", "cannot open '%s'", rule->path);
    if (!S_ISDIR(st.st_mode))
        attr.allowed_access &= FS_OF_A_FILE;
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0) < 0)
        return err_set_errno(err, "landlock", "cannot allow '%s'", rule->path);
    return 0;
}

static int landlock_apply(struct inside *in, sbr_error *err)
{
    struct ruleset_attr attr;
    size_t size = handled_rights(in->plan->landlock_abi, in->plan->network != NETWORK_NONE, &attr);
    scoped_fd int ruleset = -1;

    if (in->plan->landlock_abi == 0)
        return 0; /* named in isolation.missing by the planner */
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return err_set_errno(err, "landlock", "cannot create a ruleset");
    for (size_t i = 0; i < in->plan->n_rules; i++)
        if (add_rule(ruleset, &in->plan->rules[i], attr.handled_access_fs, err) < 0)
            return err->code;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return err_set_errno(err, "landlock", "cannot restrict the process");
    return 0;
}

const struct confiner landlock_confiner = { "landlock", landlock_probe, landlock_apply };
