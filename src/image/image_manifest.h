/* The JSON of an OCI image layout, as far as we need it: untrusted, bounded, by digests. */
#ifndef IMAGE_IMAGE_MANIFEST_H
#define IMAGE_IMAGE_MANIFEST_H

#include "base/err.h"
#include "image/image_store.h"

#define IMAGE_MAX_LAYERS 128
#define IMAGE_DIGEST_SIZE 65 /* hexadecimal of a SHA-256 */

struct image_layer {
    char digest[IMAGE_DIGEST_SIZE];  /* of the blob */
    char diff_id[IMAGE_DIGEST_SIZE]; /* of the archive in it */
    char key[IMAGE_DIGEST_SIZE];     /* of the two: its name in the store */
    uint64_t size;                   /* of the blob */
};

struct image_manifest {
    char config_digest[IMAGE_DIGEST_SIZE]; /* this is the image's id */
    char architecture[32];
    struct image_layer layers[IMAGE_MAX_LAYERS];
    size_t n_layers;
    struct image_config config;
};

/* Reads the image of the layout in `dir_fd`: the one with the tag, or the only one for this
 * machine.  Every document is compared with its digest. */
int image_manifest_read(int dir_fd, const char *tag, struct image_manifest *ret, sbr_error *err)
    must_check;
void image_manifest_done(struct image_manifest *manifest);

/* This machine's, in the words of images: amd64, arm64, … */
const char *image_manifest_architecture(void);

/* Opens the blob of a layer, whose size and content are as the manifest says.  With a directory of
 * ours as `copy_fd` it is a copy that nobody else can write to, made while it was compared; -1: the
 * layout is ours already. */
int image_manifest_layer(int dir_fd, const struct image_layer *layer, int copy_fd, sbr_error *err)
    must_check;

/* One layer of an image, laid over what the layers below it made. */

/* Links the layer's files into the tree; whiteouts (`.wh.NAME`, `.wh..wh..opq`) remove what lies
 * there from below.  Neither tree is followed through a link. */
int image_merge(int layer_fd, int tree_fd, sbr_error *err) must_check;

#endif
