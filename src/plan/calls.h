/* System call names and their numbers, on every architecture that we build for. */
#ifndef PLAN_CALLS_H
#define PLAN_CALLS_H
#include <stddef.h>
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

/* Some architecture: a name that it calls CALL_UNKNOWN exists on none. */
const struct arch *calls_any_arch(void);

/* The number, or CALL_ABSENT, or CALL_UNKNOWN. */
int call_number(const struct arch *arch, const char *name);

/* Every name on every architecture, sorted; CALL_ABSENT where the one of this build lacks it.  The
 * build writes it, so that a policy that is read at run time needs no libseccomp. */
struct call_row {
    const char *name;
    int number;
};
extern const struct call_row call_table[];
extern const size_t call_table_len;

#endif
