/* System call names and their numbers, on any architecture that we build for. */
#ifndef GENERATE_CALLS_H
#define GENERATE_CALLS_H
#include <stdint.h>

/* No architecture numbers its own calls as high as this. */
#define CALLS_MAX 1024

enum {
    CALL_ABSENT = -1,  /* exists, but not on this architecture */
    CALL_UNKNOWN = -2, /* exists nowhere                       */
};

struct arch {
    const char *name;
    uint32_t audit;         /* AUDIT_ARCH_*: how the kernel names it to a filter          */
    uint32_t library;       /* SCMP_ARCH_*: how libseccomp names it                       */
    uint32_t foreign_first; /* from here on numbers belong to another ABI; 0: they do not */
};

const struct arch *calls_find_arch(const char *name); /* NULL: we do not build for it */

/* The number, or CALL_ABSENT, or CALL_UNKNOWN. */
int call_number(const struct arch *arch, const char *name);

#endif
