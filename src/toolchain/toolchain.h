/* The real interpreter or compiler of a language on this machine.
 *
 * A language's file names patterns, best first (toolchain/toolchain_paths.h); a sign in the last
 * component is for a version.  A match counts if it is an executable file and the tool itself: a
 * version manager's shim would start another file, at a path that is not visible inside.
 *   (1) Below /usr (and /bin, /lib ...) the path is kept; all of that is visible inside anyway.
 *   (2) Elsewhere the tool's own directory is mounted, but never one that holds more than the tool:
 *       a home directory, /opt, ~/.local.  Then only the binary is mounted, and has no home. */
#ifndef TOOLCHAIN_TOOLCHAIN_H
#define TOOLCHAIN_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/language.h"
#include "plan/tools.h"

#define TOOLCHAIN_MAX 32 /* for one language */

/* Runs the tool to print its version and fills toolchain->version.  Returns 0; SBR_E_NOT_FOUND when
 * it printed none, which is stored; another negative code when it could not run. */
typedef int toolchain_ask(void *context, const struct language *language,
                          struct toolchain *toolchain);

struct tool_root;

struct toolchain_query {
    /* "3", "3.11", "3.11.2": the given numbers must match; NULL: any. */
    const char *wanted;
    const struct tool_root *root; /* NULL: the host */
    /* NULL: use only paths and stored answers. */
    toolchain_ask *ask;
    void *context;
};

/* The best tool that fits the query (NULL: any).  Fast when the first pattern is a plain path below
 * /usr and no version is wanted: two system calls, and one for each link in /usr/bin.
 * SBR_E_NOT_FOUND when there is none: the message names the package to install or the versions. */
int toolchain_find(const struct language *language, const struct toolchain_query *query,
                   struct toolchain *ret, sbr_error *err) must_check;

/* All tools, best first; at most `max`.  Returns their number. */
size_t toolchain_list(const struct language *language, struct toolchain *ret, size_t max);

/* Fills toolchain->version from a stored answer or by asking; answers are notes of the store.
 * Returns 0; SBR_E_NOT_FOUND when the version is unknown; SBR_E_BUSY when the tool would have to be
 * asked and the query cannot. */
int toolchain_version(const struct language *language, const struct toolchain_query *query,
                      struct toolchain *toolchain);

/* The first version in a tool's output, as in "go version go1.26.1 linux/amd64" (may be NULL).
 * False when there is none. */
bool toolchain_read_version(const char *text, char *buf, size_t size);

/* A text that changes with the toolchain: real path, size and ctime of its binary; in an image, its
 * path and the image's digest. */
void toolchain_identity(const struct toolchain *toolchain, char *buf, size_t size);
#define TOOLCHAIN_IDENTITY (2 * TOOLCHAIN_PATH + 64)

/* A file name from up to three words, for notes of the store; keeps the end of a long one. */
void toolchain_note_name(const char *kind, const char *language, const char *key, char *buf,
                         size_t size);
#define TOOLCHAIN_NOTE 200

#endif
