/* The hosts that apt may reach while it builds an image. */
#ifndef LIB_IMAGE_MIRRORS_H
#define LIB_IMAGE_MIRRORS_H

#include "model/request.h"

#define IMAGE_MIRRORS_APT "/etc/apt" /* the host's configuration of apt */

/* Opens the hosts that the operator named, which may have private addresses: those of apt's
 * configuration, the proxies of the environment, and SANDBOX_RUN_REGISTRIES.  `sources` are lines
 * of an image's file, which others may have written: their names open public addresses only. */
int image_mirrors_allow(sbr_request *req, char **sources, unsigned int n_sources, sbr_error *err)
    must_check;

#endif
