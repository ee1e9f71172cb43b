/* A language on this machine: its toolchains, their versions, its selftest. */
#ifndef LIB_LANGUAGE_STATUS_H
#define LIB_LANGUAGE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/jsonw.h"
#include "plan/language.h"
#include "toolchain/toolchain.h"

enum selftest_status { SELFTEST_NOT_RUN, SELFTEST_PASSES, SELFTEST_FAILS, SELFTEST_CANNOT_RUN };

struct language_report {
    const struct language *language;
    struct toolchain *toolchains; /* best first; the selftest is of the first */
    size_t n_toolchains;          /* 0: not installed */
    enum selftest_status selftest;
    char why[240]; /* of a selftest that does not pass; clean UTF-8 */
};

/* How to look; language_inspector_done closes the runtime. */
struct language_inspector {
    bool selftest; /* run it unless its result is known */
    bool fresh;    /* run it in any case */
    bool prepare;  /* run it in any case if the language has to be made ready */
    /* May be NULL.  `stage` NULL: the version is asked; `name` NULL: the end.  Again every second
     * while a stage runs. */
    void (*on_progress)(const char *name, const char *stage);
    sbr_runtime *runtime;         /* NULL: not opened yet */
    const struct language *shown; /* of on_progress */
};

/* `version` may be NULL: all of them.  The caller frees it with language_report_done. */
int language_inspect(struct language_inspector *inspector, const struct language *language,
                     const char *version, struct language_report *ret, sbr_error *err) must_check;
/* What every client may know, into an open object; not where the tools are. */
void language_report_put_json(struct jsonw *j, const struct language_report *report);
/* As the tool says it, or as its name does. */
static inline const char *language_version_text(const struct toolchain *t)
{
    return t->version[0] ? t->version : t->hint;
}
void language_report_done(struct language_report *report);
void language_inspector_done(struct language_inspector *inspector);

#endif
