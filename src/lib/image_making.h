/* A tree of the image store that is being made: removed unless it was put in its place.  What a
 * killed process leaves is removed by the next one that makes a tree. */
#ifndef LIB_IMAGE_MAKING_H
#define LIB_IMAGE_MAKING_H

#include "base/encoding.h"
#include "base/user_dir.h"
#include "image/image_store.h"

struct image_making {
    const struct user_dir *root; /* of the store */
    int staging_fd;              /* of the folder of all */
    int lock_fd, tree_fd;
    char id[ENCODING_ID_SIZE];
    char tree[IMAGE_PATH_SIZE]; /* the path of tree_fd */
};

int image_making_begin(const struct user_dir *root, struct image_making *ret, sbr_error *err)
    must_check;
/* What another process put there first is the same. */
int image_making_place(struct image_making *making, const char *folder, const char *id,
                       sbr_error *err) must_check;
void image_making_done(struct image_making *making);

#endif
