/* What `doctor` finds: each mechanism, its state, and the lines that repair it. */
#ifndef LIB_DOCTOR_H
#define LIB_DOCTOR_H

#include <stddef.h>

#include "plan/features.h"

enum finding_state { FOUND, WEAKER, MISSING };

#define FIX_LINES 3

struct finding {
    const char *name;
    enum finding_state state;
    char found[480];
    char fix[FIX_LINES][480]; /* lines for a shell; the first empty one ends them              */
    const char *lasts;        /* how long the lines hold; NULL: for good, or there are none    */
    char boot[256];           /* an argument of the kernel to add (+) or to remove (-), or none */
};

#define DOCTOR_MAX 12

/* Fills at most DOCTOR_MAX; how many. */
size_t doctor_examine(const struct features *features, struct finding *findings);

#endif
