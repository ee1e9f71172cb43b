/* Writes an image for other tools: oci:DIR[:TAG], oci-archive:FILE[:TAG] or
 * docker-archive:FILE[:NAME]. */
#ifndef LIB_IMAGE_EXPORT_H
#define LIB_IMAGE_EXPORT_H

#include "base/save.h"
#include "base/sha256.h"
#include "sandboxrun.h"

struct image_export {
    const sbr_runtime *rt;
    const char *ref; /* an image of the store, or a directory with a root file system */
    const char *target;
    const struct save_trees *trees; /* whose links are not followed on the way to the target */
};

/* The image becomes one layer whose files belong to root.  A directory must be empty or missing; a
 * file is replaced once the new one is whole.  `digest`: of the manifest, or of Docker's
 * configuration. */
int image_export(const struct image_export *order, char digest[SHA256_HEX_SIZE], sbr_error *err);

#endif
