/* The parts of an image as other tools read them: an OCI layout, or what is in an archive of
 * Docker's.  The same tree and configuration always make the same bytes. */
#ifndef LIB_IMAGE_LAYOUT_H
#define LIB_IMAGE_LAYOUT_H

#include "image/image_manifest.h"
#include "image/image_store.h"
#include "lib/archive.h"

enum image_form {
    IMAGE_FORM_OCI,    /* with a layer that gzip packed */
    IMAGE_FORM_PLAIN,  /* the same without, for ourselves */
    IMAGE_FORM_DOCKER, /* manifest.json of `docker save` */
};

struct image_layout {
    const sbr_runtime *rt;
    struct archive_tree tree; /* all files, or those above `below` */
    /* The layer under that one, which is in the store already; NULL: the image has but one. */
    const struct image_layer *below;
    const struct image_config *config;
    const char *name; /* a tag, or the whole name for Docker; NULL: none */
    enum image_form form;
};

/* Writes into an empty directory.  `digest`: of the manifest, or of Docker's configuration. */
int image_layout_write(const struct image_layout *layout, int dir_fd, char digest[SHA256_HEX_SIZE],
                       sbr_error *err) must_check;

/* The newest time of a file in the tree, or $SOURCE_DATE_EPOCH if that is earlier.  Directories do
 * not count: they may have been made just now. */
int image_layout_newest(int tree_fd, int64_t *ret, sbr_error *err) must_check;

#endif
