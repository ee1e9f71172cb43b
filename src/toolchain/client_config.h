/* The configuration of package registries' clients, read outside with the caller's rights. */
#ifndef TOOLCHAIN_CLIENT_CONFIG_H
#define TOOLCHAIN_CLIENT_CONFIG_H

#include "base/sha256.h"
#include "plan/planner.h"
#include "plan/stage.h"

/* An installer's configuration, read once both for the key of its layer and for the installer. */
struct installer {
    bool read;
    struct stage_config config; /* the network is filled when the stage starts */
    struct words needs;         /* directories of the host that it names */
    char key[SHA256_HEX_SIZE];  /* a digest of all that, without credentials */
};

/* Reads the configuration of the clients of a stage with a network; `home` is the toolchain's, or
 * "".  Does nothing for other stages, and nothing the second time. */
int client_config_read(const struct stage_def *def, const char *home, struct installer *ret,
                       sbr_error *err) must_check;
/* Finds the hosts that the configuration opens, and adds them to ret->network. */
int client_config_find_registries(const struct stage_def *def, const char *home,
                                  struct stage_config *ret, sbr_error *err) must_check;
void client_config_installer_done(struct installer *installer);
void client_config_done(struct stage_config *config);
/* Paths of the host that match the patterns; free them with client_config_words_done. */
int client_config_expand(const struct words *patterns, struct words *ret, sbr_error *err)
    must_check;
void client_config_words_done(struct words *words);

#endif
