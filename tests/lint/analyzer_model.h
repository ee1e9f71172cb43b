/* What the analyzer cannot see across files, told to it through `-include`; never compiled in.
 *
 * The functions that fill an error return a negative code.  Without this it follows paths on which
 * a failed call "succeeds" and its outputs are read before they are written. */
#ifndef LINT_ANALYZER_MODEL_H
#define LINT_ANALYZER_MODEL_H

#include "base/err.h"

/* No function: a call below the depth to which the analyzer follows calls would say nothing. */
#define analyzer_negative(value)                                                                   \
    ({                                                                                             \
        const int negative_code = (value);                                                         \
        if (negative_code >= 0)                                                                    \
            __builtin_unreachable();                                                               \
        negative_code;                                                                             \
    })

#define err_set(...) analyzer_negative((err_set)(__VA_ARGS__))
#define err_set_errno(...) analyzer_negative((err_set_errno)(__VA_ARGS__))
#define err_set_oom(...) analyzer_negative((err_set_oom)(__VA_ARGS__))
#define err_set_retry(...) analyzer_negative((err_set_retry)(__VA_ARGS__))

#endif
