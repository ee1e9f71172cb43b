/* What the scripts of Debian's packages would compile, in an image whose packages are unpacked. */
#ifndef LIB_IMAGE_COMPILE_H
#define LIB_IMAGE_COMPILE_H

#include "lib/image_making.h"

/* Runs the image's own tools on its tree, without the network and without files of the host.  What
 * the image has no tool for is left as it is. */
int image_compile(const sbr_runtime *rt, const struct image_making *making, sbr_error *err)
    must_check;

#endif
