#include "generate/c_text.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* On x86_64, bit 30 of a number selects the x32 ABI, which numbers the same calls differently. */
#define X32_FIRST 0x40000000U

/* clang-format off */
static const struct arch archs[] = {
    { "x86_64",  AUDIT_ARCH_X86_64,  SCMP_ARCH_X86_64,  X32_FIRST },
    { "aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, 0         },
};

/* Calls newer than the libseccomp of Debian 12.  From Linux 5.1 on, a new call has one number on
 * every architecture that we build for. */
static const struct {
    const char *name;
    int number;
} late_calls[] = {
    { "cachestat",         451 },
    { "fchmodat2",         452 },
    { "map_shadow_stack",  453 },
    { "futex_wake",        454 },
    { "futex_wait",        455 },
    { "futex_requeue",     456 },
    { "statmount",         457 },
    { "listmount",         458 },
    { "lsm_get_self_attr", 459 },
    { "lsm_set_self_attr", 460 },
    { "lsm_list_modules",  461 },
    { "mseal",             462 },
    { "setxattrat",        463 },
    { "getxattrat",        464 },
    { "listxattrat",       465 },
    { "removexattrat",     466 },
    { "open_tree_attr",    467 },
    { "file_getattr",      468 },
    { "file_setattr",      469 },
};
/* clang-format on */

const struct arch *calls_find_arch(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(archs); i++) {
        if (strcmp(archs[i].name, name) == 0)
            return &archs[i];
    }
    return NULL;
}

const struct arch *calls_any_arch(void)
{
    return &archs[0];
}

int call_number(const struct arch *arch, const char *name)
{
    int number = seccomp_syscall_resolve_name_arch(arch->library, name);

    if (number >= 0)
        return number;
    for (size_t i = 0; i < ARRAY_LEN(late_calls); i++) {
        if (strcmp(late_calls[i].name, name) == 0)
            return late_calls[i].number;
    }
    /* Numbers below -1 are libseccomp's own, for calls of other architectures. */
    return number == __NR_SCMP_ERROR ? CALL_UNKNOWN : CALL_ABSENT;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t calls_names(char **ret, size_t max)
{
    size_t n = 0, unique = 0;

    for (size_t i = 0; i < ARRAY_LEN(archs); i++) {
        for (int number = 0; number < CALLS_MAX && n < max; number++) {
            char *name = seccomp_syscall_resolve_num_arch(archs[i].library, number);

            if (name)
                ret[n++] = name;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(late_calls) && n < max; i++) {
        char *name = strdup(late_calls[i].name);

        if (name)
            ret[n++] = name;
    }
    qsort(ret, n, sizeof(*ret), compare);
    for (size_t i = 0; i < n; i++) {
        if (unique && !strcmp(ret[unique - 1], ret[i]))
            free(ret[i]);
        else
            ret[unique++] = ret[i];
    }
    return unique;
}
