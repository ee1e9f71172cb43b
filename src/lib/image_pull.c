#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/scope.h"
#include "image/image_manifest.h"
#include "image/image_merge.h"
#include "lib/archive.h"
#include "lib/image_fetch.h"
#include "lib/image_making.h"
#include "lib/image_unpack.h"
#include "lib/runner.h"
#include "lib/tool_job.h"

#define LEAST_ROOM ((uint64_t)256 << 20)
#define GROWTH 40 /* of a layer that is unpacked, at most; more is a bomb */
#define MOST_FILES 1000000

static void tell(const struct image_pull *pull, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const struct image_pull *pull, const char *fmt, ...)
{
    char line[300];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (pull->progress)
        pull->progress(pull->context, line);
}

static bool is_there(const struct user_dir *root, const char *folder, const char *id)
{
    char path[SHA256_HEX_SIZE + 16];

    snprintf(path, sizeof(path), "%s/%s", folder, id);
    return faccessat(root->fd, path, F_OK, 0) == 0;
}

/* Where no sandbox can write to the disk as its owner, files are in memory meanwhile. */
static struct workspace_quota room_for(uint64_t size)
{
    struct workspace_quota quota = { .bytes = size * GROWTH, .inodes = MOST_FILES };
    struct sysinfo machine;

    if (quota.bytes < LEAST_ROOM)
        quota.bytes = LEAST_ROOM;
    if (sysinfo(&machine) == 0 && quota.bytes > (uint64_t)machine.totalram * machine.mem_unit / 2)
        quota.bytes = (uint64_t)machine.totalram * machine.mem_unit / 2;
    return quota;
}

static int check_diff(const sbr_runtime *rt, int fd, const char *diff_id, sbr_error *err)
{
    char found[SHA256_HEX_SIZE];

    if (archive_digest(rt, fd, found, err) < 0)
        return err->code;
    if (strcmp(found, diff_id) != 0)
        return err_set(err, SBR_E_INVALID, "image",
                       "a layer holds another archive than its diff id %.12s… says; nothing of the "
                       "image is taken",
                       diff_id);
    return 0;
}

static int unpack_in_memory(const struct image_pull *pull, const struct image_making *making,
                            int fd, const struct image_layer *layer, sbr_error *err)
{
    struct archive_source source = { .fd = fd,
                                     .quota = room_for(layer->size),
                                     .may_end_early = true };

    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_set_errno(err, "image", "cannot read a layer");
    if (check_diff(pull->rt, fd, layer->diff_id, err) < 0)
        return err->code;
    return archive_unpack(pull->rt, making->tree_fd, &source, NULL, err);
}

/* Which layer is unpacked, for people. */
struct turn {
    const struct image_pull *pull;
    size_t number, of;
};

static void show_unpacked(void *context, uint64_t done, uint64_t of)
{
    const struct turn *turn = context;
    char line[100];

    snprintf(line, sizeof(line), "layer %zu of %zu: %.1f of %.1f MiB", turn->number, turn->of,
             (double)done / (1 << 20), (double)of / (1 << 20));
    turn->pull->live(turn->pull->context, line);
}

static int unpack_layer(const struct turn *turn, const struct image_making *making, int fd,
                        const struct image_layer *layer, sbr_error *err)
{
    const struct image_pull *pull = turn->pull;
    struct image_unpack unpack = { .rt = pull->rt,
                                   .show = pull->live ? show_unpacked : NULL,
                                   .context = (void *)turn,
                                   .fd = fd,
                                   .size = layer->size,
                                   .diff_id = layer->diff_id,
                                   .dir = making->tree,
                                   .dir_fd = making->tree_fd };
    int r = image_unpack(&unpack, err);

    return r == SBR_E_UNSUPPORTED ? unpack_in_memory(pull, making, fd, layer, err) : r;
}

/* What a layer may grow to depends on its size, so nobody but the file says it. */
static int check_size(int fd, const struct image_layer *layer, sbr_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set_errno(err, "image", "cannot read a layer");
    if ((uint64_t)st.st_size == layer->size)
        return 0;
    return err_set(err, SBR_E_INVALID, "image",
                   "the layer %.12s… has %lld bytes, but the manifest says another number; nothing "
                   "of the image is taken",
                   layer->digest, (long long)st.st_size);
}

static int make_layer(const struct turn *turn, int layout_fd, const struct user_dir *root,
                      const struct image_layer *layer, sbr_error *err)
{
    scoped_fd int fd = -1;
    struct image_making making;
    int r;

    if (image_making_begin(root, &making, err) < 0)
        return err->code;
    fd = image_manifest_blob(layout_fd, layer->digest, err);
    r = fd < 0 ? err->code : check_size(fd, layer, err);
    if (r == 0)
        r = unpack_layer(turn, &making, fd, layer, err);
    if (r == 0)
        r = image_making_place(&making, "layer", layer->diff_id, err);
    image_making_done(&making);
    return r;
}

static int lay(const struct user_dir *root, const char *diff_id, int tree_fd, sbr_error *err)
{
    char path[SHA256_HEX_SIZE + 16];
    scoped_fd int held = -1, fd = -1;

    snprintf(path, sizeof(path), "layer/%s", diff_id);
    held = openat(root->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* `image prune` removes no layer that is held: half of one would look like a whole one. */
    if (held >= 0 && flock(held, LOCK_SH) == 0)
        fd = openat(held, "tree", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "image", "a layer is gone; pull the image again");
    return image_merge(fd, tree_fd, err);
}

static int make_root(const struct user_dir *root, const struct image_manifest *manifest,
                     sbr_error *err)
{
    struct image_making making;
    int r = 0;

    if (is_there(root, "root", manifest->config_digest))
        return 0;
    if (image_making_begin(root, &making, err) < 0)
        return err->code;
    for (size_t i = 0; r == 0 && i < manifest->n_layers; i++)
        r = lay(root, manifest->layers[i].diff_id, making.tree_fd, err);
    if (r == 0)
        r = image_store_write_config(making.lock_fd, &manifest->config, err);
    if (r == 0)
        r = image_making_place(&making, "root", manifest->config_digest, err);
    image_making_done(&making);
    return r;
}

int image_pull_layout(const struct image_pull *pull, int layout_fd, const char *tag, char id[65],
                      sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct image_manifest manifest;
    int r = 0;

    if (image_store_root(true, &root, err) < 0 ||
        image_manifest_read(layout_fd, tag, &manifest, err) < 0)
        return err->code;
    for (size_t i = 0; r == 0 && i < manifest.n_layers; i++) {
        const struct image_layer *layer = &manifest.layers[i];
        const struct turn turn = { .pull = pull, .number = i + 1, .of = manifest.n_layers };

        if (is_there(&root, "layer", layer->diff_id))
            continue;
        tell(pull, "layer %zu of %zu (%.1f MiB)", i + 1, manifest.n_layers,
             (double)layer->size / (1 << 20));
        r = make_layer(&turn, layout_fd, &root, layer, err);
    }
    if (r == 0)
        r = make_root(&root, &manifest, err);
    memcpy(id, manifest.config_digest, 65);
    image_manifest_done(&manifest);
    return r;
}

int image_pull(const struct image_pull *pull, const char *ref, char id[65], sbr_error *err)
{
    struct image_fetch fetch;
    struct image_ref parsed;
    int r;

    if (image_is_path(ref))
        return err_set(err, SBR_E_INVALID, "image",
                       "'%.200s' is a directory of this machine; give it to --image as it is", ref);
    if (image_ref_parse(ref, &parsed, err) < 0 ||
        tool_job_check("tar", "images need", "image", err) < 0)
        return err->code;
    tell(pull, "fetching %s", parsed.name);
    r = image_fetch_begin(pull, &parsed, &fetch, err);
    if (r == 0)
        r = image_pull_layout(pull, fetch.dir_fd, parsed.transport == IMAGE_OCI ? parsed.tag : "",
                              id, err);
    if (r == 0)
        r = image_store_name(&parsed, id, err);
    image_fetch_done(&fetch);
    return r;
}

int image_pull_missing(struct image_pull *pull, const char *ref, sbr_error *err)
{
    char id[SHA256_HEX_SIZE];
    sbr_runtime *rt;
    int r = image_is_here(ref, err);

    if (r != 0)
        return r < 0 ? r : 0;
    if (runner_open(RUNNER_ONCE, true, &rt, err) < 0)
        return err->code;
    pull->rt = rt;
    r = image_pull(pull, ref, id, err);
    sbr_runtime_close(rt);
    return r;
}
