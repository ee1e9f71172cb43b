/* Packages of a language in an image.
 *
 * What `run --dep` would install lies in the image itself, below IMAGE_PACKAGES, and a program of
 * that language has it as its dependencies: see image/image.h.  The installer is the language's
 * own, with the tools of the image and the registries of the user's configuration. */
#ifndef LIB_IMAGE_PACKAGES_H
#define LIB_IMAGE_PACKAGES_H

#include "base/string_list.h"
#include "lib/image_making.h"
#include "lib/image_recipe.h"

struct image_packages {
    const sbr_runtime *rt;
    const char *image; /* the path of the files of an image that has the tools */
    const struct image_recipe *recipe;
};

/* Fills an empty tree with them, as a layer above that image. */
int image_packages_fill(const struct image_packages *packages, const struct image_making *making,
                        sbr_error *err) must_check;

/* Adds a line for each package of the image that has a newer version: NAME OLD NEW. */
int image_packages_outdated(const sbr_runtime *rt, const char *ref, struct string_list *ret,
                            sbr_error *err) must_check;

#endif
