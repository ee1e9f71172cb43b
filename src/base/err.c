#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void err_fill(sbr_error *err, int code, int sys_errno, const char *stage)
{
    memset(err, 0, sizeof(*err));
    err->code = code;
    err->sys_errno = sys_errno;
    snprintf(err->stage, sizeof(err->stage), "%s", stage);
}

/* Bytes of the character at `p`; 0 when it is cut, or none.  Only roughly: init does not link
 * text.c. */
static size_t character_len(const unsigned char *p)
{
    size_t n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* C1 controls are two bytes in UTF-8, and one where it is not. */
void err_clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        size_t n = character_len(p);

        if (n == 0 || *p < 0x20 || *p == 0x7f)
            *p = '?';
        else if (*p == 0xc2 && p[1] < 0xa0)
            p[0] = p[1] = '?';
        else
            p += n - 1;
    }
}

int err_set(sbr_error *err, enum sbr_code code, const char *stage, const char *fmt, ...)
{
    va_list args;

    err_fill(err, code, 0, stage);
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    err_clean(err->message);
    return code;
}

/* The kernel's text does not say whose limit it was: the caller's own, set in the shell. */
static const char *errno_advice(int sys_errno)
{
    switch (sys_errno) {
    case EMFILE:
        return "; raise `ulimit -n`";
    case EFBIG:
        return "; raise `ulimit -f`";
    default:
        return "";
    }
}

int err_set_errno(sbr_error *err, const char *stage, const char *fmt, ...)
{
    int saved = errno;
    va_list args;
    size_t used;

    err_fill(err, SBR_E_SYSTEM, saved, stage);
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    err_clean(err->message);

    used = strlen(err->message);
    snprintf(err->message + used, sizeof(err->message) - used, ": %s%s", strerror(saved),
             errno_advice(saved));
    return SBR_E_SYSTEM;
}

int err_set_no_process(sbr_error *err, const char *stage, const char *what)
{
    if (errno != EAGAIN)
        return err_set_errno(err, stage, "cannot start %s", what);
    return err_set(err, SBR_E_BUSY, stage,
                   "cannot start %s: this user has as many processes as it may have; raise `ulimit "
                   "-u`, or the process limit of its group",
                   what);
}

int err_set_oom(sbr_error *err, const char *stage)
{
    return err_set(err, SBR_E_NO_MEMORY, stage, "out of memory");
}

int err_set_retry(sbr_error *err, enum err_retry retry)
{
    err->code = SBR_E_UNSUPPORTED;
    err->stage[sizeof(err->stage) - 2] = '\0';
    err->stage[sizeof(err->stage) - 1] = (char)retry;
    return err->code;
}

enum err_retry err_retry(const sbr_error *err)
{
    return (enum err_retry)err->stage[sizeof(err->stage) - 1];
}

const char *err_code_name(int code)
{
    static const char *const names[] = { "ok",   "invalid",   "not_found", "unsupported", "denied",
                                         "busy", "no_memory", "system",    "bug" };
    size_t index = (size_t)(-(long)code);

    return index < ARRAY_LEN(names) ? names[index] : "unknown";
}
