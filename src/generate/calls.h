/* System call names and their numbers, on every architecture that we build for. */
#ifndef GENERATE_CALLS_H
#define GENERATE_CALLS_H
#include <stdint.h>

/* No architecture has its own calls beyond this number. */
#define CALLS_MAX 1024

enum {
    CALL_ABSENT = -1,  /* exists, but not on this architecture */
    CALL_UNKNOWN = -2, /* exists on no architecture */
};

struct arch {
    const char *name;
    uint32_t audit;         /* AUDIT_ARCH_*: the kernel's name in a filter */
    uint32_t library;       /* SCMP_ARCH_*: libseccomp's name */
    uint32_t foreign_first; /* numbers from here on belong to another ABI; 0: none do */
};

const struct arch *calls_find_arch(const char *name); /* NULL: we do not build for it */

/* The number, or CALL_ABSENT, or CALL_UNKNOWN. */
int call_number(const struct arch *arch, const char *name);

#endif
