/* Where the parts of an image come from: an OCI layout of the host, or one that skopeo makes. */
#ifndef LIB_IMAGE_FETCH_H
#define LIB_IMAGE_FETCH_H

#include "image/image_ref.h"
#include "lib/image_fetch_dir.h"
#include "lib/image_pull.h"

struct image_fetch {
    int dir_fd;                  /* of the layout */
    struct image_fetch_dir made; /* where skopeo makes it, if it does */
};

int image_fetch_begin(const struct image_pull *pull, const struct image_ref *ref,
                      struct image_fetch *ret, sbr_error *err) must_check;
void image_fetch_done(struct image_fetch *fetch);

#endif
