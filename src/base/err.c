#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* First and last of the characters that show nothing, or turn the text around them. */
static const char unseen[][2][5] = {
    { "\xc2\x80", "\xc2\x9f" }, /* C1 controls, which are one byte where it is not UTF-8 */
    { "\xc2\xad", "\xc2\xad" },         { "\xd8\x9c", "\xd8\x9c" },
    { "\xe1\xa0\x8b", "\xe1\xa0\x8f" }, { "\xe2\x80\x8b", "\xe2\x80\x8f" },
    { "\xe2\x80\xa8", "\xe2\x80\xae" }, { "\xe2\x81\xa0", "\xe2\x81\xaf" },
    { "\xef\xbb\xbf", "\xef\xbb\xbf" }, { "\xf3\xa0\x80\x80", "\xf3\xa0\xbf\xbf" },
};

static bool is_unseen(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++)
        if (strlen(unseen[i][0]) == n && memcmp(p, unseen[i][0], n) >= 0 &&
            memcmp(p, unseen[i][1], n) <= 0)
            return true;
    return false;
}

void err_clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        size_t n = character_len(p);

        if (n == 0 || *p < 0x20 || *p == 0x7f)
            *p = '?';
        else if (is_unseen(p, n))
            memset(p, '?', n);
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
