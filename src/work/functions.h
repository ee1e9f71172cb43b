/* Which functions used the time, from samples that a profiler inside has left: a line for each
 * stack, outermost function first, as `FRAME;FRAME;FRAME MICROSECONDS`.  The text is the
 * program's. */
#ifndef WORK_FUNCTIONS_H
#define WORK_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct jsonw;

struct function_use {
    const char *frame; /* any bytes but NUL, ';' and newline; for people: functions_name */
    uint64_t self_us, total_us;
};

struct functions {
    char *text; /* that the frames are parts of */
    struct function_use *uses;
    size_t n;
    uint64_t sum_us;
    bool cut; /* there were more samples than are counted */
};

/* Takes the text, whose byte behind the end is NUL.  The uses are sorted, the greatest self_us
 * first.  Lines of another form are left out. */
int functions_read(char *take_text, size_t len, struct functions *ret, sbr_error *err) must_check;
void functions_done(struct functions *f);
/* The frame as text that can be shown. */
void functions_name(const struct function_use *use, char *buf, size_t size);
void functions_put_json(struct jsonw *j, const char *key, const struct functions *f);

#endif
