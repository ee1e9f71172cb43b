/* A digest of an installer's configuration, for the key of its layer; for client_config.c only. */
#ifndef TOOLCHAIN_CLIENT_CONFIG_KEY_H
#define TOOLCHAIN_CLIENT_CONFIG_KEY_H

#include <stdbool.h>

#include "base/sha256.h"

struct config_key {
    struct sha256 sum;
    bool failed; /* the key becomes unique */
};

void client_config_key_begin(struct config_key *key);
/* Adds a file or a variable without credentials; only the name of a file of credentials. */
void client_config_key_text(struct config_key *key, const char *name, const char *data, size_t len);
/* Adds a directory that a variable names: names, sizes and times of the files in it. */
void client_config_key_directory(struct config_key *key, const char *path);
void client_config_key_finish(struct config_key *key, char hex[SHA256_HEX_SIZE]);

#endif
