#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/sha256.h"
#include "base/text.h"
#include "image/image_store.h"

bool image_is_path(const char *ref)
{
    return ref[0] == '/' || !strncmp(ref, "./", 2) || !strncmp(ref, "../", 3);
}

int image_is_here(const char *ref, sbr_error *err)
{
    char id[SHA256_HEX_SIZE];
    struct image_ref parsed;

    if (image_is_path(ref))
        return 1;
    return image_ref_parse(ref, &parsed, err) < 0 ? err->code : image_store_find(&parsed, id, err);
}

struct image *image_hold(struct image *image)
{
    image->users++;
    return image;
}

void image_free(struct image *image)
{
    if (!image || --image->users > 0)
        return;
    for (size_t i = 0; i < image->n_trees; i++) {
        free(image->trees[i].source);
        free(image->trees[i].target);
    }
    for (size_t i = 0; i < image->plan.n_names; i++) {
        free((char *)image->names[i].name);
        free((char *)image->names[i].link);
    }
    string_list_done(&image->env);
    string_list_done(&image->command);
    free(image->workdir);
    free(image->user);
    scope_close_fd(&image->hold_fd);
    scope_close_fd(&image->root.fd);
    free(image);
}

static int add_tree(struct image *image, const char *name, bool is_file, sbr_error *err)
{
    struct image_tree *tree = &image->trees[image->n_trees];

    if (image->n_trees == PLAN_MAX_IMAGE_TREES)
        return err_set(err, SBR_E_UNSUPPORTED, "image",
                       "the image has more than %d files and full directories at its top",
                       PLAN_MAX_IMAGE_TREES);
    tree->is_file = is_file;
    if (asprintf(&tree->source, "%s/%s", image->top, name) < 0)
        tree->source = NULL;
    if (asprintf(&tree->target, "/%s", name) < 0)
        tree->target = NULL;
    image->n_trees++;
    return tree->source && tree->target ? 0 : err_set_oom(err, "image");
}

static int add_name(struct image *image, const char *name, const char *link, sbr_error *err)
{
    struct plan_image_name *entry = &image->names[image->plan.n_names];

    if (image->plan.n_names == IMAGE_MAX_NAMES)
        return err_set(err, SBR_E_UNSUPPORTED, "image",
                       "the image has more than %d links and empty directories at its top",
                       IMAGE_MAX_NAMES);
    image->plan.n_names++;
    entry->name = strdup(name);
    entry->link = link ? strdup(link) : NULL;
    return entry->name && (!link || entry->link) ? 0 : err_set_oom(err, "image");
}

static bool is_empty(int dir_fd, const char *name)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    scoped_listing struct listing names = { 0 };

    return fd >= 0 && listing_read(fd, &names) == 0 && names.n == 0;
}

/* What is neither a file, a directory nor a link is left out: nothing in a sandbox can use it. */
static int add_entry(struct image *image, const struct language *language, const char *name,
                     sbr_error *err)
{
    char link[REQUEST_MAX_PATH + 1];
    int top_fd = image->root.fd;
    struct stat st;
    ssize_t len;

    if (plan_image_is_ours(name, language))
        return 0;
    if (fstatat(top_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set_errno(err, "image", "cannot look at '%.100s' of the image", name);
    if (S_ISREG(st.st_mode))
        return add_tree(image, name, true, err);
    if (S_ISDIR(st.st_mode))
        return is_empty(top_fd, name) ? add_name(image, name, NULL, err)
                                      : add_tree(image, name, false, err);
    if (!S_ISLNK(st.st_mode))
        return 0;
    len = readlinkat(top_fd, name, link, sizeof(link) - 1);
    if (len <= 0 || len == (ssize_t)sizeof(link) - 1)
        return err_set(err, SBR_E_INVALID, "image", "the link '%.100s' of the image is too long",
                       name);
    link[len] = '\0';
    return add_name(image, name, link, err);
}

bool image_has_directory(const struct image *image, const char *path)
{
    struct stat st;

    return tool_root_stat(&image->root, path, &st) && S_ISDIR(st.st_mode);
}

static const char *path_variable(const struct image *image)
{
    for (size_t i = 0; i < image->env.n; i++)
        if (!strncmp(image->env.items[i], "PATH=", 5))
            return image->env.items[i] + 5;
    return PLAN_USUAL_PATH;
}

static int read_top(struct image *image, const struct language *language, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };

    image->root = (struct tool_root){ .fd = open(image->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                      .id = image->id,
                                      .name = image->top,
                                      .path = path_variable(image) };
    if (image->root.fd < 0 || listing_read(image->root.fd, &names) < 0)
        return err_set_errno(err, "image", "cannot read '%.200s'", image->top);
    for (size_t i = 0; i < names.n; i++)
        if (add_entry(image, language, names.names[i], err) < 0)
            return err->code;
    if (!image->n_trees)
        return err_set(err, SBR_E_INVALID, "image",
                       "'%.200s' is no root file system: no file and no full directory is in it",
                       image->top);
    image->plan.names = image->names;
    image->plan.kept = image->id[0];
    image->plan.env = &image->env;
    image->plan.command = &image->command;
    image->plan.path = image->root.path;
    if (image_user_find(image, &image->user_found))
        image->plan.user = &image->user_found;
    image->plan.has_workdir = image->workdir && image_has_directory(image, image->workdir);
    /* One that is not there is made, if its name is plain. */
    if (image->plan.has_workdir ||
        (image->workdir && text_is_safe_relative_path(image->workdir + 1, REQUEST_MAX_PATH)))
        image->plan.workdir = image->workdir;
    return 0;
}

int image_place(const struct image *image, const struct language *language, const char *path,
                char ret[REQUEST_MAX_PATH + 1], sbr_error *err)
{
    char real[PATH_MAX], name[REQUEST_MAX_PATH + 1];
    size_t len = strlen(path);
    int n;

    /* The longest part of it that is there. */
    for (; len > 0; len = (size_t)((char *)memrchr(path, '/', len) - path)) {
        snprintf(name, sizeof(name), "%.*s", (int)len, path);
        if (tool_root_resolve(&image->root, name, real))
            break;
    }
    n = snprintf(ret, REQUEST_MAX_PATH + 1, "%s%s", len ? real : "", path + len);
    if (n > REQUEST_MAX_PATH || n < 2)
        return err_set(err, SBR_E_INVALID, "volumes", "'%.150s' is no place for a volume", path);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(ret + 1, "/"), ret + 1);
    if (plan_image_is_ours(name, language))
        return err_set(err, SBR_E_INVALID, "volumes",
                       "links of the image lead '%.150s' to '%.150s', which is the sandbox's own; "
                       "choose another target for the volume",
                       path, ret);
    return 0;
}

bool image_packages_of(const struct image *image, const char *language, char *ret, size_t size)
{
    char path[sizeof(IMAGE_PACKAGES) + NAME_MAX], real[PATH_MAX];
    struct stat st;
    int n;

    if (!image->id[0])
        return false;
    snprintf(path, sizeof(path), IMAGE_PACKAGES "/%.200s", language);
    if (!tool_root_stat(&image->root, path, &st) || !S_ISDIR(st.st_mode) ||
        !tool_root_resolve(&image->root, path, real))
        return false;
    n = snprintf(ret, size, "%s%s", image->top, real);
    return n > 0 && (size_t)n < size;
}

static int open_directory(const char *path, struct image *image, sbr_error *err)
{
    scoped_free char *real = realpath(path, NULL);
    struct stat st;

    if (!real || stat(real, &st) < 0)
        return err_set(err, errno == ENOENT ? SBR_E_NOT_FOUND : SBR_E_SYSTEM, "image",
                       "there is no directory '%.200s'", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, SBR_E_INVALID, "image",
                       "'%.200s' is no directory; an archive is named docker-archive:FILE", path);
    if (!strcmp(real, "/") || strlen(real) >= sizeof(image->top))
        return err_set(err, SBR_E_INVALID, "image",
                       "'%.200s' cannot be an image; leave --image out to use the host's files",
                       path);
    snprintf(image->top, sizeof(image->top), "%s", real);
    return 0;
}

typedef int find_fn(const char *name, struct image *ret, sbr_error *err);

static int open_by(find_fn *find, const char *name, const struct language *language,
                   struct image **ret, sbr_error *err)
{
    struct image *image = calloc(1, sizeof(*image));
    int r;

    if (!image)
        return err_set_oom(err, "image");
    image->users = 1;
    image->hold_fd = image->root.fd = -1;
    r = find(name, image, err);
    if (r == 0)
        r = read_top(image, language, err);
    if (r < 0) {
        image_free(image);
        return err->code;
    }
    *ret = image;
    return 0;
}

int image_open(const char *ref, const struct language *language, struct image **ret, sbr_error *err)
{
    return open_by(image_is_path(ref) ? open_directory : image_store_open, ref, language, ret, err);
}

int image_open_id(const char *id, const struct language *language, struct image **ret,
                  sbr_error *err)
{
    return open_by(image_store_open_id, id, language, ret, err);
}
