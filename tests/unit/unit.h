/* What every unit test needs: cmocka with the headers that it wants before it, and one assertion
 * for the one error object. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

/* `r` is what a call returned and `err` what it filled: both must say `code`, and the one sentence
 * must have `part` in it. */
static inline void assert_refused(int r, const sbr_error *err, enum sbr_code code, const char *part)
{
    assert_int_equal(r, code);
    assert_int_equal(err->code, code);
    if (!strstr(err->message, part))
        fail_msg("'%s' should say '%s'", err->message, part);
    if (strchr(err->message, '\n') || !err->stage[0])
        fail_msg("'%s' should be one line, of some stage", err->message);
}

#endif
