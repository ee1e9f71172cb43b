/* A directory in /var/tmp into which an image is fetched.
 *
 * The pull holds a lock on it, which the kernel drops with the process.  What a killed pull left is
 * taken over by the next pull of the same image, so that skopeo fetches no part twice, and
 * removed by a pull of any other image and by `image prune`. */
#ifndef LIB_IMAGE_FETCH_DIR_H
#define LIB_IMAGE_FETCH_DIR_H

#include "image/image_ref.h"

#define IMAGE_FETCH_DIR_SIZE 64

struct image_fetch_dir {
    int lock_fd;                     /* -1: there is none */
    char path[IMAGE_FETCH_DIR_SIZE]; /* removed at the end */
    char layout[IMAGE_FETCH_DIR_SIZE + 8];
};

int image_fetch_dir_open(const struct image_ref *ref, struct image_fetch_dir *ret, sbr_error *err)
    must_check;
void image_fetch_dir_done(struct image_fetch_dir *dir);
/* Removes what killed pulls of this user have left. */
void image_fetch_dir_sweep(void);

#endif
