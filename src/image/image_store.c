#include "image/image_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/listing.h"
#include "base/lock_file.h"
#include "base/record.h"
#include "base/staging_dir.h"
#include "base/tree_remove.h"
#include "store/store_root.h"

#define CONFIG_MAGIC 0x53424943u /* SBIC */
#define NAME_MAGIC 0x5342494eu   /* SBIN */
#define CONFIG_MAX (1u << 20)
#define KEY_PATH (SHA256_HEX_SIZE + 32)

static const char *const folders[] = { "name", "root", "layer", "staging" };

void image_config_done(struct image_config *config)
{
    string_list_done(&config->env);
    string_list_done(&config->entrypoint);
    string_list_done(&config->command);
    free(config->workdir);
    free(config->user);
}

static int fail(const char *what, sbr_error *err)
{
    return err_set_errno(err, "image", "cannot %s the images in the cache", what);
}

int image_store_root(bool make, struct user_dir *ret, sbr_error *err)
{
    scoped_user_dir struct user_dir cache = { .fd = -1 };
    int r = store_root_open(make, &cache, err);

    if (r <= 0)
        return r;
    if (snprintf(ret->path, sizeof(ret->path), "%.1000s/image", cache.path) >=
        (int)sizeof(ret->path))
        return err_set(err, SBR_E_INVALID, "image", "the path of the cache is too long");
    if (make && mkdirat(cache.fd, "image", 0700) < 0 && errno != EEXIST)
        return fail("make room for", err);
    ret->fd = openat(cache.fd, "image", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (ret->fd < 0)
        return errno == ENOENT && !make ? 0 : fail("open", err);
    for (size_t i = 0; make && i < ARRAY_LEN(folders); i++)
        if (mkdirat(ret->fd, folders[i], 0700) < 0 && errno != EEXIST)
            return fail("make room for", err);
    return 1;
}

/* A local image is another one when its file has changed. */
static void name_path(const struct image_ref *ref, char path[KEY_PATH])
{
    char file[IMAGE_REF_SIZE + 16], key[SHA256_HEX_SIZE];
    struct sha256 sum;
    struct stat st = { 0 };

    snprintf(file, sizeof(file), "%s%s", ref->name,
             ref->transport == IMAGE_OCI ? "/index.json" : "");
    if (ref->transport == IMAGE_REGISTRY || stat(file, &st) < 0)
        st = (struct stat){ 0 };
    sha256_init(&sum);
    sha256_add_u64(&sum, ref->transport);
    sha256_add_text(&sum, ref->name);
    sha256_add_text(&sum, ref->tag);
    sha256_add_u64(&sum, (uint64_t)st.st_size);
    sha256_add_u64(&sum, (uint64_t)clock_ns(st.st_mtim));
    sha256_add_u64(&sum, st.st_ino);
    sha256_finish_hex(&sum, key);
    snprintf(path, KEY_PATH, "name/%s", key);
}

/* 1: read; 0: it is not there or not whole. */
static int read_name(int root_fd, const char *path, struct image_item *ret)
{
    struct record record;
    int r = record_read(root_fd, path, NAME_MAGIC, CONFIG_MAX, &record);
    const char *name = r == 1 ? buf_reader_string(&record.fields) : NULL;
    const char *id = name ? buf_reader_string(&record.fields) : NULL;

    if (r == 1 && (!id || record.fields.failed || !encoding_is_hex(id, SHA256_HEX_SIZE - 1)))
        r = 0;
    if (r == 1) {
        snprintf(ret->name, sizeof(ret->name), "%s", name);
        snprintf(ret->id, sizeof(ret->id), "%s", id);
        ret->named = record.written.tv_sec;
    }
    record_done(&record);
    return r == 1;
}

int image_store_find(const struct image_ref *ref, char id[SHA256_HEX_SIZE], sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char path[KEY_PATH];
    struct image_item item;
    int r = image_store_root(false, &root, err);

    if (r <= 0)
        return r;
    name_path(ref, path);
    if (!read_name(root.fd, path, &item))
        return 0;
    memcpy(id, item.id, SHA256_HEX_SIZE);
    snprintf(path, sizeof(path), "root/%s", id);
    return faccessat(root.fd, path, F_OK, 0) == 0;
}

int image_store_name(const struct image_ref *ref, const char *id, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char path[KEY_PATH], text[IMAGE_REF_SIZE + 160];
    struct buf data;

    if (image_store_root(true, &root, err) < 0)
        return err->code;
    name_path(ref, path);
    record_begin(&data, NAME_MAGIC, CONFIG_MAX);
    image_ref_text(ref, text, sizeof(text));
    buf_put_string(&data, text);
    buf_put_string(&data, id);
    return record_write(root.fd, path, &data, 0) < 0 ? fail("name", err) : 0;
}

int image_store_forget(const struct image_ref *ref, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char path[KEY_PATH];
    int r = image_store_root(false, &root, err);

    if (r <= 0)
        return r;
    name_path(ref, path);
    if (unlinkat(root.fd, path, 0) == 0)
        return 1;
    return errno == ENOENT ? 0 : fail("forget one of", err);
}

static void put_list(struct buf *data, const struct string_list *list)
{
    buf_put_u32(data, (uint32_t)list->n);
    for (size_t i = 0; i < list->n; i++)
        buf_put_string(data, list->items[i]);
}

int image_store_write_config(int dir_fd, const struct image_config *config, sbr_error *err)
{
    struct buf data;

    record_begin(&data, CONFIG_MAGIC, CONFIG_MAX);
    put_list(&data, &config->env);
    put_list(&data, &config->entrypoint);
    put_list(&data, &config->command);
    buf_put_string(&data, config->workdir);
    buf_put_string(&data, config->user);
    if (data.failed) {
        buf_done(&data);
        return err_set(err, SBR_E_INVALID, "image",
                       "the configuration of the image is longer than %u bytes", CONFIG_MAX);
    }
    return record_write(dir_fd, "config", &data, 0) < 0 ? fail("write", err) : 0;
}

static int read_list(struct buf_reader *fields, struct string_list *ret, sbr_error *err)
{
    uint32_t n = buf_reader_count(fields);

    for (uint32_t i = 0; i < n && !fields->failed; i++) {
        const char *text = buf_reader_string(fields);

        if (text && string_list_add(ret, text, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_config(int dir_fd, struct image *ret, sbr_error *err)
{
    struct record record;
    const char *workdir, *user;
    int r = record_read(dir_fd, "config", CONFIG_MAGIC, CONFIG_MAX, &record);

    if (r != 1) {
        record_done(&record);
        return err_set(err, SBR_E_SYSTEM, "image",
                       "the image in the cache is damaged; pull it again");
    }
    r = 0;
    if (read_list(&record.fields, &ret->env, err) < 0 ||
        read_list(&record.fields, &ret->command, err) < 0)
        r = err->code;
    ret->n_entrypoint = ret->command.n;
    if (r == 0 && read_list(&record.fields, &ret->command, err) < 0)
        r = err->code;
    workdir = buf_reader_string(&record.fields);
    if (r == 0 && workdir && !record.fields.failed)
        ret->workdir = strdup(workdir);
    /* Images that were pulled by earlier versions have none. */
    user = buf_reader_string(&record.fields);
    if (r == 0 && user && !record.fields.failed)
        ret->user = strdup(user);
    record_done(&record);
    return r;
}

int image_store_hold(const struct user_dir *root, const char *id, sbr_error *err)
{
    scoped_fd int fd = -1;
    char path[KEY_PATH];

    snprintf(path, sizeof(path), "root/%s", id);
    fd = openat(root->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_SH) < 0)
        return fail("hold one of", err);
    return take_fd(fd);
}

static int open_held(const struct user_dir *root, const char *id, struct image *ret, sbr_error *err)
{
    snprintf(ret->id, sizeof(ret->id), "%s", id);
    if (snprintf(ret->top, sizeof(ret->top), "%.1000s/root/%s/tree", root->path, id) >=
        (int)sizeof(ret->top))
        return err_set(err, SBR_E_INVALID, "image", "the path of the cache is too long");
    return read_config(ret->hold_fd, ret, err);
}

int image_store_open_id(const char *id, struct image *ret, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char path[KEY_PATH];

    if (!encoding_is_hex(id, SHA256_HEX_SIZE - 1) || image_store_root(false, &root, err) <= 0)
        return err_set(err, SBR_E_NOT_FOUND, "image", "there is no image '%.80s' here", id);
    snprintf(path, sizeof(path), "root/%s", id);
    ret->hold_fd = openat(root.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (ret->hold_fd < 0 || flock(ret->hold_fd, LOCK_SH | LOCK_NB) < 0)
        return fail("hold one of", err);
    return open_held(&root, id, ret, err);
}

int image_store_open(const char *ref, struct image *ret, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char id[SHA256_HEX_SIZE];
    struct image_ref parsed;
    int r;

    if (image_ref_parse(ref, &parsed, err) < 0)
        return err->code;
    r = image_store_find(&parsed, id, err);
    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "image",
                       "there is no image '%.150s' here; `sandbox-run image pull %.150s` brings it",
                       ref, ref);
    if (image_store_root(false, &root, err) < 0)
        return err->code;
    ret->hold_fd = image_store_hold(&root, id, err);
    return ret->hold_fd < 0 ? err->code : open_held(&root, id, ret, err);
}

int image_store_list(image_visit *visit, void *context, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    scoped_listing struct listing names = { 0 };
    scoped_fd int fd = -1;
    int r = image_store_root(false, &root, err);

    if (r <= 0)
        return r;
    fd = openat(root.fd, "name", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || listing_read(fd, &names) < 0)
        return fail("list", err);
    for (size_t i = 0; i < names.n; i++) {
        struct image_item item;

        if (read_name(fd, names.names[i], &item) && (r = visit(context, &item)) != 0)
            return r;
    }
    return 0;
}

struct kept {
    char (*ids)[SHA256_HEX_SIZE];
    size_t n;
};

static int keep_id(void *context, const struct image_item *item)
{
    struct kept *kept = context;
    void *grown = realloc(kept->ids, (kept->n + 1) * sizeof(*kept->ids));

    if (!grown)
        return -1;
    kept->ids = grown;
    memcpy(kept->ids[kept->n++], item->id, SHA256_HEX_SIZE);
    return 0;
}

static bool is_kept(const struct kept *kept, const char *id)
{
    for (size_t i = 0; i < kept->n; i++)
        if (!strcmp(kept->ids[i], id))
            return true;
    return false;
}

/* Of one image, unless a run holds it; true: it is gone. */
static bool remove_root(int dir_fd, const char *id)
{
    scoped_fd int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && lock_file_try(fd) == LOCK_FILE_HELD && tree_remove(dir_fd, id) == 0;
}

/* A layer that no image shares any more: its files have one name each.  The first file tells. */
static bool is_shared(int dir_fd)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read(dir_fd, &names) < 0)
        return true;
    for (size_t i = 0; i < names.n; i++) {
        scoped_fd int below = -1;
        struct stat st;

        if (fstatat(dir_fd, names.names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            return true;
        if (S_ISREG(st.st_mode) && st.st_nlink > 1)
            return true;
        if (!S_ISDIR(st.st_mode))
            continue;
        below = openat(dir_fd, names.names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0 || is_shared(below))
            return true;
    }
    return false;
}

static bool remove_layer(int dir_fd, const char *id)
{
    scoped_fd int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && lock_file_try(fd) == LOCK_FILE_HELD && !is_shared(fd) &&
           tree_remove(dir_fd, id) == 0;
}

static int prune_folder(int root_fd, const char *folder, const struct kept *kept,
                        unsigned int *removed, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    scoped_fd int fd = openat(root_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || listing_read(fd, &names) < 0)
        return fail("list", err);
    for (size_t i = 0; i < names.n; i++)
        if (kept ? !is_kept(kept, names.names[i]) && remove_root(fd, names.names[i])
                 : remove_layer(fd, names.names[i]))
            ++*removed;
    return 0;
}

/* What killed processes were making. */
static void sweep_staging(int root_fd)
{
    scoped_fd int fd = openat(root_fd, "staging", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0)
        staging_dir_sweep(fd);
}

int image_store_prune(unsigned int *ret_removed, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct kept kept = { 0 };
    int r = image_store_root(false, &root, err);

    *ret_removed = 0;
    if (r <= 0)
        return r;
    sweep_staging(root.fd);
    r = image_store_list(keep_id, &kept, err) < 0 ? err_set_oom(err, "image") : 0;
    if (r == 0)
        r = prune_folder(root.fd, "root", &kept, ret_removed, err);
    if (r == 0)
        r = prune_folder(root.fd, "layer", NULL, ret_removed, err);
    free(kept.ids);
    return r;
}
