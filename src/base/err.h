/* The one error object: it travels from the child to every client unchanged. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/scope.h"
#include "sandboxrun.h"

#define must_check __attribute__((warn_unused_result))
#define format_like_printf(a, b) __attribute__((format(printf, a, b)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The error crosses the status socket in one write. */
_Static_assert(sizeof(sbr_error) <= 512, "an error must fit into one atomic pipe write");

/* Fills *err and returns `code`, for `return err_set(...)`. */
int err_set(sbr_error *err, enum sbr_code code, const char *stage, const char *fmt, ...)
    format_like_printf(4, 5);

/* The same with SBR_E_SYSTEM and the text of errno at the end of the sentence. */
int err_set_errno(sbr_error *err, const char *stage, const char *fmt, ...) format_like_printf(3, 4);

/* The same for a process or thread that cannot be started; errno is the reason.  SBR_E_BUSY when
 * there are too many already. */
int err_set_no_process(sbr_error *err, const char *stage, const char *what);

/* SBR_E_NO_MEMORY with a fixed sentence. */
int err_set_oom(sbr_error *err, const char *stage);

/* Messages quote names and values of untrusted programs, cut at a fixed length.  What a terminal
 * would obey, and what is no UTF-8, becomes '?'. */
void err_clean(char *text);

/* How another attempt may succeed. */
enum err_retry {
    ERR_FINAL,
    ERR_WITHOUT_VIEW,            /* show trees without an overlay   */
    ERR_WITH_OTHER_COW,          /* the next kind of copy-on-write  */
    ERR_WITHOUT_USER_NAMESPACES, /* plan for a machine without them */
    ERR_UNDER_OWN_NAMES          /* bring trees in under their own names */
};
/* Marks *err, which is set, and makes it SBR_E_UNSUPPORTED.  The mark is the last byte of `stage`,
 * so it crosses from init to the supervisor, and the public struct stays as it is. */
int err_set_retry(sbr_error *err, enum err_retry retry);
enum err_retry err_retry(const sbr_error *err);

/* A short stable word for a code: "invalid", "not_found", ... */
const char *err_code_name(int code);

#endif
