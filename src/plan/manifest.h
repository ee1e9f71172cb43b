/* Which files list a project's dependencies, and what they ask for. */
#ifndef PLAN_MANIFEST_H
#define PLAN_MANIFEST_H

#include "plan/language.h"

/* True when a file is this manifest, or one of that name below it. */
bool manifest_is(const struct manifest *manifest, const char *path);
/* True when the text of the manifest asks for packages. */
bool manifest_asks(const struct manifest *manifest, const char *text);
/* True when there are more of that name below the manifest, as in a workspace. */
bool manifest_has_members(const struct manifest *manifest, const char *text);

#endif
