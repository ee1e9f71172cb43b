#include "admit/refusal.h"

#include <stdarg.h>
#include <stdio.h>

int refusal_set(struct refusal *ret, enum refusal_kind kind, enum bound bound, const char *field,
                const char *fmt, ...)
{
    static const int codes[] = { [REFUSED_BY_ERROR] = SBR_E_INVALID,
                                 [REFUSED_UNREADABLE] = SBR_E_INVALID,
                                 [REFUSED_WRONG] = SBR_E_INVALID,
                                 [REFUSED_FORBIDDEN] = SBR_E_DENIED,
                                 [REFUSED_FULL] = SBR_E_BUSY };
    char text[sizeof(ret->err.message)];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ret->kind = kind;
    ret->bound = bound;
    snprintf(ret->field, sizeof(ret->field), "%s", field);
    err_set(&ret->err, codes[kind], "request", "%s", text);
    return -1;
}
