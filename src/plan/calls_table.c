/* Numbers of system calls at run time, from the table that the build wrote. */
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "plan/calls.h"

#if defined(__x86_64__)
#define FOREIGN_FIRST 0x40000000u /* the x32 ABI */
#else
#define FOREIGN_FIRST 0
#endif

static const struct arch own = { .name = ARCH_NAME,
                                 .audit = ARCH_AUDIT,
                                 .foreign_first = FOREIGN_FIRST };

const struct arch *calls_find_arch(const char *name)
{
    return strcmp(name, own.name) == 0 ? &own : NULL;
}

const struct arch *calls_any_arch(void)
{
    return &own;
}

static int compare(const void *key, const void *element)
{
    return strcmp(key, ((const struct call_row *)element)->name);
}

int call_number(const struct arch *arch, const char *name)
{
    const struct call_row *row =
        bsearch(name, call_table, call_table_len, sizeof(*call_table), compare);

    (void)arch;
    return row ? row->number : CALL_UNKNOWN;
}
