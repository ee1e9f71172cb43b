#include "image/image_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/tree_remove.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"
#define DEPTH_MAX 200

static int fail(const char *name, sbr_error *err)
{
    return err_set_errno(err, "image", "cannot put '%.150s' of a layer in its place", name);
}

static bool is_whiteout(const char *name)
{
    return !strncmp(name, WHITEOUT, strlen(WHITEOUT));
}

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int remove_all(int tree_fd, sbr_error *err)
{
    scoped_listing struct listing below = { 0 };

    if (listing_read(tree_fd, &below) < 0)
        return fail(".", err);
    for (size_t i = 0; i < below.n; i++)
        if (tree_remove(tree_fd, below.names[i]) < 0)
            return fail(below.names[i], err);
    return 0;
}

/* Removals come first: a layer may hide what is below and have the same name itself. */
static int remove_hidden(const struct listing *names, int tree_fd, sbr_error *err)
{
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->names[i], OPAQUE) && remove_all(tree_fd, err) < 0)
            return err->code;
    for (size_t i = 0; i < names->n; i++) {
        const char *hidden = names->names[i] + strlen(WHITEOUT);

        if (!is_whiteout(names->names[i]) || is_whiteout(hidden) || !*hidden ||
            tree_is_dots(hidden))
            continue;
        if (tree_remove(tree_fd, hidden) < 0)
            return fail(hidden, err);
    }
    return 0;
}

static int merge_dir(int layer_fd, int tree_fd, unsigned int depth, sbr_error *err);

static int merge_below(int layer_fd, int tree_fd, const char *name, unsigned int depth,
                       sbr_error *err)
{
    scoped_fd int from = open_dir(layer_fd, name), to = -1;
    struct stat st;

    if (depth == DEPTH_MAX) {
        errno = ELOOP;
        return fail(name, err);
    }
    if (from < 0 || fstat(from, &st) < 0)
        return fail(name, err);
    if (mkdirat(tree_fd, name, 0755) < 0 && errno != EEXIST)
        return fail(name, err);
    to = open_dir(tree_fd, name);
    if (to < 0 && (errno == ENOTDIR || errno == ELOOP) && unlinkat(tree_fd, name, 0) == 0 &&
        mkdirat(tree_fd, name, 0755) == 0)
        to = open_dir(tree_fd, name);
    if (to < 0)
        return fail(name, err);
    if (merge_dir(from, to, depth + 1, err) < 0)
        return err->code;
    /* An image that is made twice is the same twice. */
    return futimens(to, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0 ? fail(name, err) : 0;
}

static int merge_file(int layer_fd, int tree_fd, const char *name, sbr_error *err)
{
    if (linkat(layer_fd, name, tree_fd, name, 0) == 0)
        return 0;
    if (errno != EEXIST || tree_remove(tree_fd, name) < 0 ||
        linkat(layer_fd, name, tree_fd, name, 0) < 0)
        return fail(name, err);
    return 0;
}

static int merge_dir(int layer_fd, int tree_fd, unsigned int depth, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read(layer_fd, &names) < 0)
        return fail(".", err);
    if (remove_hidden(&names, tree_fd, err) < 0)
        return err->code;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.names[i];
        struct stat st;

        if (is_whiteout(name))
            continue;
        if (fstatat(layer_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return fail(name, err);
        if ((S_ISDIR(st.st_mode) ? merge_below(layer_fd, tree_fd, name, depth, err)
                                 : merge_file(layer_fd, tree_fd, name, err)) < 0)
            return err->code;
    }
    return 0;
}

int image_merge(int layer_fd, int tree_fd, sbr_error *err)
{
    return merge_dir(layer_fd, tree_fd, 0, err);
}
