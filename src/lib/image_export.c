#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/tree_remove.h"
#include "image/image.h"
#include "lib/image_making.h"

/* clang-format off */
static const struct kind {
    const char *prefix;
    enum image_form form;
    bool is_file;
} kinds[] = {
    { "oci:",            IMAGE_FORM_OCI,    false },
    { "oci-archive:",    IMAGE_FORM_OCI,    true  },
    { "docker-archive:", IMAGE_FORM_DOCKER, true  },
};
/* clang-format on */

struct target {
    const struct kind *kind;
    char path[IMAGE_PATH_SIZE];
    char name[IMAGE_REF_SIZE]; /* a tag, or Docker's name; empty: none */
};

static int bad_target(const char *text, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "export",
                   "'%.150s' is no place for an image; as in oci:DIR, oci-archive:FILE or "
                   "docker-archive:FILE, each with :TAG behind it if you like",
                   text);
}

/* The tag of the name behind its last slash; a digest is none. */
static const char *tag_of(const char *name)
{
    const char *slash = strrchr(name, '/'), *colon = strrchr(slash ? slash : name, ':');

    return colon && !strchr(slash ? slash : name, '@') ? colon + 1 : NULL;
}

/* Without a name of its own, the copy is called as the image is. */
static void name_by_ref(const char *ref, struct target *ret)
{
    struct image_ref parsed;
    sbr_error ignored = { 0 };
    bool docker = ret->kind->form == IMAGE_FORM_DOCKER;
    const char *tag = NULL;

    if (!image_is_path(ref) && image_ref_parse(ref, &parsed, &ignored) == 0)
        tag = parsed.transport == IMAGE_REGISTRY ? tag_of(parsed.name) : parsed.tag;
    if (docker)
        snprintf(ret->name, sizeof(ret->name), "%s",
                 tag && parsed.transport == IMAGE_REGISTRY ? parsed.name : "");
    else
        snprintf(ret->name, sizeof(ret->name), "%s", tag && *tag ? tag : "latest");
}

static bool is_name(const char *text)
{
    for (; *text; text++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:", *text))
            return false;
    return true;
}

static int parse_target(const struct image_export *order, struct target *ret, sbr_error *err)
{
    const char *text = order->target, *colon;

    *ret = (struct target){ 0 };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)))
            ret->kind = &kinds[i];
    if (!ret->kind)
        return bad_target(text, err);
    text += strlen(ret->kind->prefix);
    colon = strchrnul(text, ':');
    if (colon == text || colon - text >= (ptrdiff_t)sizeof(ret->path) || !is_name(colon) ||
        (*colon && !colon[1]))
        return bad_target(order->target, err);
    snprintf(ret->path, sizeof(ret->path), "%.*s", (int)(colon - text), text);
    if (*colon)
        snprintf(ret->name, sizeof(ret->name), "%s", colon + 1);
    else
        name_by_ref(order->ref, ret);
    return 0;
}

static int write_parts(const struct image_export *order, const struct image *image,
                       const struct target *target, int dir_fd, char digest[SHA256_HEX_SIZE],
                       sbr_error *err)
{
    const struct string_list *words = &image->command;
    const struct image_config config = {
        .env = image->env,
        .entrypoint = { .items = words->items, .n = image->n_entrypoint },
        .command = { .items = words->items + image->n_entrypoint,
                     .n = words->n - image->n_entrypoint },
        .workdir = image->workdir,
        .user = image->user,
    };
    struct image_layout layout = { .rt = order->rt,
                                   .tree = { .path = image->top, .fd = image->root.fd },
                                   .config = &config,
                                   .name = target->name[0] ? target->name : NULL,
                                   .form = target->kind->form };

    if (image_layout_newest(image->root.fd, &layout.tree.newest, err) < 0)
        return err->code;
    return image_layout_write(&layout, dir_fd, digest, err);
}

/* The directory, empty; `made`: it was not there before. */
static int open_empty(const char *path, const struct save_trees *trees, bool *made, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    scoped_fd int place = -1, fd = -1;

    *made = mkdir(path, 0755) == 0;
    if (!*made && errno != EEXIST)
        return err_set_errno(err, "export", "cannot make '%.200s'", path);
    place = save_dir_open(path, trees, false, err);
    if (place < 0)
        return err->code;
    fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || listing_read(fd, &names) < 0)
        return err_set_errno(err, "export", "cannot read '%.200s'", path);
    if (names.n)
        return err_set(err, SBR_E_INVALID, "export",
                       "'%.200s' is not empty; name a directory that is, or that is not there yet",
                       path);
    return take_fd(fd);
}

static void empty_again(int dir_fd, const char *path, bool made)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read(dir_fd, &names) == 0)
        for (size_t i = 0; i < names.n; i++)
            (void)tree_remove(dir_fd, names.names[i]);
    if (made)
        (void)rmdir(path);
}

static int export_directory(const struct image_export *order, const struct image *image,
                            const struct target *target, char digest[SHA256_HEX_SIZE],
                            sbr_error *err)
{
    bool made;
    scoped_fd int fd = open_empty(target->path, order->trees, &made, err);
    int r = fd < 0 ? err->code : write_parts(order, image, target, fd, digest, err);

    if (fd >= 0 && r < 0)
        empty_again(fd, target->path, made);
    return r;
}

static int pack_file(const struct image_export *order, const struct image_making *making,
                     const char *path, sbr_error *err)
{
    const struct archive_tree tree = { .path = making->tree, .fd = making->tree_fd };
    scoped_save_file struct save_file file = SAVE_FILE_NONE;
    int fd;

    if (save_file_open(&file, path, order->trees, err) < 0)
        return err->code;
    fd = save_file_begin(&file, err);
    if (fd < 0 || archive_pack(order->rt, &tree, &(struct archive_target){ .fd = fd }, err) < 0)
        return err->code;
    return save_file_end(&file, err);
}

static int export_file(const struct image_export *order, const struct image *image,
                       const struct target *target, char digest[SHA256_HEX_SIZE], sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct image_making making;
    int r;

    if (image_store_root(true, &root, err) < 0 || image_making_begin(&root, &making, err) < 0)
        return err->code;
    r = write_parts(order, image, target, making.tree_fd, digest, err);
    if (r == 0)
        r = pack_file(order, &making, target->path, err);
    image_making_done(&making);
    return r;
}

int image_export(const struct image_export *order, char digest[SHA256_HEX_SIZE], sbr_error *err)
{
    struct target target;
    struct image *image;
    int r;

    if (parse_target(order, &target, err) < 0 || image_open(order->ref, NULL, &image, err) < 0)
        return err->code;
    r = (target.kind->is_file ? export_file : export_directory)(order, image, &target, digest, err);
    image_free(image);
    return r;
}
