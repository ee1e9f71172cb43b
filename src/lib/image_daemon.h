/* An image of a daemon on this machine, Docker's or Podman's, as the archive that it saves. */
#ifndef LIB_IMAGE_DAEMON_H
#define LIB_IMAGE_DAEMON_H

#include <stdbool.h>

#include "base/err.h"

/* False also when there is no daemon. */
bool image_daemon_has(const char *name);
/* Writes the archive of the image `name` to a new file.  The daemon is the one of DOCKER_HOST
 * (unix:///PATH), or Docker's usual socket. */
int image_daemon_save(const char *name, int dir_fd, const char *file, sbr_error *err) must_check;

#endif
