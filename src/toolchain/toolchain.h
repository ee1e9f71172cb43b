/* The real interpreter or compiler of a language on this machine.
 *
 * A language's file names patterns, best first (toolchain/toolchain_paths.h); a sign in the last component stands
 * for a version.  What a pattern finds counts when it is an executable file and the tool itself: a version manager's shim would start something else,
 * from a place that is not visible inside.
 *   (1) Below /usr (and /bin, /lib ...) the path stays as it is found; all that is visible inside anyway.
 *   (2) Elsewhere the tool's own directory is mounted, and never one that holds more than the tool: a home
 *       directory, /opt, ~/.local.  Then the binary goes alone, and has no home. */
#ifndef TOOLCHAIN_TOOLCHAIN_H
#define TOOLCHAIN_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/language.h"
#include "plan/tools.h"

#define TOOLCHAIN_MAX 32 /* of one language */

/* Lets the tool print its version and fills toolchain->version.  0; SBR_E_NOT_FOUND when it ran and said none,
 * which is remembered; another negative when it could not be asked. */
typedef int toolchain_ask(void *context, const struct language *language,
                          struct toolchain *toolchain);

struct toolchain_query {
    const char
        *wanted; /* "3", "3.11", "3.11.2": the numbers that are given must be these; NULL: any */
    toolchain_ask
        *ask; /* NULL: what paths and earlier answers say has to do                        */
    void *context;
};

/* The best one that answers the query (NULL: any).  Fast when the first pattern is a plain path below /usr
 * and no version is wanted: two system calls, and one for each link beside it.  SBR_E_NOT_FOUND when there is
 * none: the message names the package to install, or the versions that there are. */
int toolchain_find(const struct language *language, const struct toolchain_query *query,
                   struct toolchain *ret, sbr_error *err) must_check;

/* Every one of them, best first; at most `max`.  The number found. */
size_t toolchain_list(const struct language *language, struct toolchain *ret, size_t max);

/* Fills toolchain->version: from an earlier answer, or by asking.  Answers are kept as notes of the store. 0,
 * or SBR_E_NOT_FOUND when nobody knows. */
int toolchain_version(const struct language *language, const struct toolchain_query *query,
                      struct toolchain *toolchain);

/* The first version in what a tool printed, as in "go version go1.26.1 linux/amd64" (may be NULL).  False: none. */
bool toolchain_read_version(const char *text, char *buf, size_t size);

/* A text that changes when the toolchain does: real path, size, time of change of its binary. */
void toolchain_identity(const struct toolchain *toolchain, char *buf, size_t size);
#define TOOLCHAIN_IDENTITY (TOOLCHAIN_PATH + 64)

/* A file name from up to three words, for notes of the store; the end of a long one counts. */
void toolchain_note_name(const char *kind, const char *language, const char *key, char *buf,
                         size_t size);
#define TOOLCHAIN_NOTE 200

#endif
