/* A digest of the configuration of an installer, for the key of its layer.  Private to config.c. */
#ifndef TOOLCHAIN_CLIENT_CONFIG_KEY_H
#define TOOLCHAIN_CLIENT_CONFIG_KEY_H

#include <stdbool.h>

#include "base/sha256.h"

struct config_key {
    struct sha256 sum;
    bool failed; /* the key will be one that nobody else has */
};

void client_config_key_begin(struct config_key *key);
/* A file or a variable; credentials in it do not count, and files that hold nothing else only by their names. */
void client_config_key_text(struct config_key *key, const char *name, const char *data, size_t len);
/* A directory that a variable names, perhaps one of packages: names, sizes and times of what is in it. */
void client_config_key_directory(struct config_key *key, const char *path);
void client_config_key_finish(struct config_key *key, char hex[SHA256_HEX_SIZE]);

#endif
