/* Which files of a project decide what its installer and its set-up leave. */
#ifndef TOOLCHAIN_PROJECT_SOURCES_H
#define TOOLCHAIN_PROJECT_SOURCES_H

#include "base/sha256.h"
#include "plan/language.h"
#include "plan/planner.h"

/* True when a pattern fits: one with a slash the whole path ("./NAME" lies in the project's top),
 * any other the last name. */
bool project_sources_match(const struct words *patterns, const char *path);
/* Adds the files that match to the digest, by path and content; past a bound of all contents, by
 * size and time.  `masks`: what of the project is left out.  Nothing is an error: what cannot be
 * read is not there for the stage either.  Where there is more than was looked at, also through
 * links, the place is added: another project must not have the same digest. */
void project_sources_add(int project_fd, const struct words *patterns,
                         const struct plan_mask *masks, size_t n_masks, struct sha256 *s);
/* Adds which directory it is. */
void project_sources_add_place(int project_fd, struct sha256 *s);

#endif
