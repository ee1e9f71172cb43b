/* Images that were pulled, in the cache of the user:
 *
 *   image/name/KEY    a record: a reference and its ID              KEY: SHA-256 of the reference
 *   image/root/ID/    `tree`, the files, and a record `config`      ID: digest of its configuration
 *   image/layer/KEY/  `tree`, the files of one layer                KEY: of its digest and diff id
 *   image/staging/    what is being made; renamed when it is whole
 *
 * A file of an image is the same inode as that of its layer, so images share what they have in
 * common.  Nothing of it is written after the rename. */
#ifndef IMAGE_IMAGE_STORE_H
#define IMAGE_IMAGE_STORE_H

#include "base/sha256.h"
#include "base/user_dir.h"
#include "image/image.h"
#include "image/image_ref.h"

/* What an image says of its programs. */
struct image_config {
    struct string_list env, entrypoint, command;
    char *workdir; /* NULL: none */
    char *user;    /* the same; as in "name", "1000", "name:group" */
};
void image_config_done(struct image_config *config);

/* 1: open; 0: there is none, and it was not to be made. */
int image_store_root(bool make, struct user_dir *ret, sbr_error *err) must_check;

/* Fills id, top, env, command, workdir, user and hold_fd. */
int image_store_open(const char *ref, struct image *ret, sbr_error *err) must_check;
/* The same by its id; does not wait for a process that removes it. */
int image_store_open_id(const char *id, struct image *ret, sbr_error *err) must_check;

/* While the fd is open, no process removes the image; negative: an error. */
int image_store_hold(const struct user_dir *root, const char *id, sbr_error *err) must_check;

/* Which image a reference means.  1: known; 0: not. */
int image_store_find(const struct image_ref *ref, char id[SHA256_HEX_SIZE], sbr_error *err)
    must_check;
int image_store_name(const struct image_ref *ref, const char *id, sbr_error *err) must_check;

int image_store_write_config(int dir_fd, const struct image_config *config, sbr_error *err)
    must_check;

struct image_item {
    char name[IMAGE_REF_SIZE];
    char id[SHA256_HEX_SIZE];
    int64_t named; /* when the name got this image, seconds */
};
/* Not 0 ends the listing, which returns it. */
typedef int image_visit(void *context, const struct image_item *item);
int image_store_list(image_visit *visit, void *context, sbr_error *err) must_check;
/* Forgets the name.  1: it was there; 0: not. */
int image_store_forget(const struct image_ref *ref, sbr_error *err) must_check;
/* Removes images without a name and layers without an image; what a run uses stays. */
int image_store_prune(unsigned int *ret_removed, sbr_error *err) must_check;

#endif
