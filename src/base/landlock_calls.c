#include "base/landlock_calls.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1
#define FILES_ABI1 ((1ULL << 13) - 1)
#define SCOPES_ABI6 3ULL /* abstract sockets and signals */

struct ruleset_attr {
    uint64_t files;
    uint64_t net;
    uint64_t scoped;
};

struct path_attr {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);

    return abi > 0 ? (int)abi : 0;
}

int landlock_create(int abi, uint64_t left_out, uint64_t net, uint64_t *ret_files)
{
    struct ruleset_attr attr = { .files = FILES_ABI1 };
    size_t known = offsetof(struct ruleset_attr, net); /* what this ABI has of the attribute */

    attr.files |= abi >= 2 ? LANDLOCK_REFER : 0;
    attr.files |= abi >= 3 ? LANDLOCK_TRUNCATE : 0;
    attr.files |= abi >= 5 ? LANDLOCK_IOCTL_DEV : 0;
    attr.files &= ~left_out;
    if (abi >= 4) {
        attr.net = net;
        known = offsetof(struct ruleset_attr, scoped);
    }
    if (abi >= 6) {
        attr.scoped = SCOPES_ABI6;
        known = sizeof(attr);
    }
    *ret_files = attr.files;
    return (int)syscall(SYS_landlock_create_ruleset, &attr, known, 0);
}

int landlock_allow(int ruleset, int path_fd, uint64_t rights)
{
    struct path_attr attr = { .allowed = rights, .parent_fd = path_fd };

    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0);
}

int landlock_enforce(int ruleset)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
