/* Selectors of versions, as clients of Piston write them: "3.x", "^3.9", ">=10", "*". */
#ifndef DIALECT_SEMVER_H
#define DIALECT_SEMVER_H

#include <stdbool.h>

/* False also for a selector that is none. */
bool semver_matches(const char *version, const char *selector);

#endif
