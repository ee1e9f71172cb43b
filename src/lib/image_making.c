#include "lib/image_making.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/staging_dir.h"
#include "base/tree_remove.h"

void image_making_done(struct image_making *making)
{
    if (making->lock_fd >= 0 && making->id[0])
        (void)tree_remove(making->staging_fd, making->id);
    scope_close_fd(&making->tree_fd);
    scope_close_fd(&making->lock_fd);
    scope_close_fd(&making->staging_fd);
}

int image_making_begin(const struct user_dir *root, struct image_making *ret, sbr_error *err)
{
    *ret = (struct image_making){ .root = root, .lock_fd = -1, .tree_fd = -1 };
    ret->staging_fd = openat(root->fd, "staging", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->staging_fd >= 0) {
        staging_dir_sweep(ret->staging_fd);
        ret->lock_fd = staging_dir_make(ret->staging_fd, ret->id);
    }
    if (ret->lock_fd >= 0 && mkdirat(ret->lock_fd, "tree", 0755) == 0)
        ret->tree_fd = openat(ret->lock_fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->tree_fd < 0 || fchmod(ret->tree_fd, 0755) < 0) {
        err_set_errno(err, "image", "cannot write to '%.200s'", root->path);
        image_making_done(ret);
        return err->code;
    }
    snprintf(ret->tree, sizeof(ret->tree), "%.1000s/staging/%s/tree", root->path, ret->id);
    return 0;
}

int image_making_place(struct image_making *making, const char *folder, const char *id,
                       sbr_error *err)
{
    char path[SHA256_HEX_SIZE + 16];

    snprintf(path, sizeof(path), "%s/%s", folder, id);
    if (renameat(making->staging_fd, making->id, making->root->fd, path) == 0) {
        making->id[0] = '\0';
        return 0;
    }
    return errno == EEXIST || errno == ENOTEMPTY
               ? 0
               : err_set_errno(err, "image", "cannot put the image in its place");
}
