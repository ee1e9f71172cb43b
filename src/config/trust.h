/* Which files of projects the user has looked at and trusts: their paths and the SHA-256 of their
 * contents, in the state directory.  A file that changes is not trusted any more. */
#ifndef CONFIG_TRUST_H
#define CONFIG_TRUST_H

#include <stdbool.h>

#include "base/sha256.h"
#include "config/config_find.h"
#include "sandboxrun.h"

/* False also when the state cannot be read. */
bool trust_has(const char *path, const char *digest);
int trust_add(const char *path, const char *digest, sbr_error *err);
/* 1; 0 when it was not trusted; or negative. */
int trust_revoke(const char *path, sbr_error *err);

struct trust_item {
    char path[CONFIG_PATH_SIZE];
    char digest[SHA256_HEX_SIZE];
};
typedef void trust_visit(void *context, const struct trust_item *item);
int trust_list(trust_visit *visit, void *context, sbr_error *err);

#endif
