/* One layer of an image, laid over what the layers below it made. */
#ifndef IMAGE_IMAGE_MERGE_H
#define IMAGE_IMAGE_MERGE_H

#include "base/err.h"

/* Links the layer's files into the tree; whiteouts (`.wh.NAME`, `.wh..wh..opq`) remove what lies
 * there from below.  Neither tree is followed through a link. */
int image_merge(int layer_fd, int tree_fd, sbr_error *err) must_check;

#endif
