/* Images that were pulled, in the cache of the user:
 *
 *   image/NAME      a record: which image a name means         NAME: SHA-256 of the reference
 *   image/ID/       `tree`, its files; `config`, a record      ID: SHA-256 of layers and configuration
 *   image/layer/ID/ `tree`, the files of one layer             ID: its diff id
 *
 * A file of an image is the same inode as that of its layer, so images share what they have in
 * common.  Everything is made aside and renamed into place. */
#ifndef IMAGE_IMAGE_STORE_H
#define IMAGE_IMAGE_STORE_H

#include "image/image.h"

/* Fills id, top, env, entrypoint, command, workdir and hold_fd. */
int image_store_open(const char *ref, struct image *ret, sbr_error *err) must_check;

#endif
