/* Images of Debian packages and packages of a language, described by a small YAML file. */
#ifndef LIB_IMAGE_BUILD_H
#define LIB_IMAGE_BUILD_H

#include "base/string_list.h"
#include "lib/image_pull.h"

struct image_build {
    struct image_pull pull; /* the runtime, and the lines for people */
    const char *file;       /* a name that we ship (python), or the path of a YAML file */
    const char *tag;        /* NULL: localhost/NAME:latest */
};

/* The image is in the store under its tag.  The same packages make the same id. */
int image_build(const struct image_build *build, char ref[300], char id[65], sbr_error *err)
    must_check;

/* One line for each package of the image that has a newer version: NAME OLD NEW.  apt's sources are
 * those of `file`, or the host's (NULL): what the image itself names is not trusted. */
int image_build_outdated(const sbr_runtime *rt, const char *ref, const char *file,
                         struct string_list *ret, sbr_error *err) must_check;

#endif
