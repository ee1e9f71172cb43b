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

#include "lib/image_making.h"
#include "lib/runner.h"
#include "lib/tool_job.h"

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
static struct workspace_quota quota_of(const struct image_room *room)
{
    struct workspace_quota quota = image_unpack_room(room);
    struct sysinfo machine;

    if (sysinfo(&machine) == 0 && quota.bytes > (uint64_t)machine.totalram * machine.mem_unit / 2)
        quota.bytes = (uint64_t)machine.totalram * machine.mem_unit / 2;
    return quota;
}

/* Which layer is unpacked, and what it may take. */
struct turn {
    const struct image_pull *pull;
    const struct image_here *layout;
    const struct image_manifest *manifest;
    struct image_room *room;
    size_t number; /* of the layer, from 1 */
};

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

static int unpack_in_memory(const struct turn *turn, const struct image_making *making, int fd,
                            const struct image_layer *layer, sbr_error *err)
{
    struct archive_source source = { .fd = fd,
                                     .quota = quota_of(turn->room),
                                     .may_end_early = true };

    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_set_errno(err, "image", "cannot read a layer");
    if (check_diff(turn->pull->rt, fd, layer->diff_id, err) < 0)
        return err->code;
    return archive_unpack(turn->pull->rt, making->tree_fd, &source, NULL, err);
}

static void show_unpacked(void *context, uint64_t done, uint64_t of)
{
    const struct turn *turn = context;
    char line[100];

    snprintf(line, sizeof(line), "layer %zu of %zu: %.1f of %.1f MiB", turn->number,
             turn->manifest->n_layers, (double)done / (1 << 20), (double)of / (1 << 20));
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
                                   .room = turn->room,
                                   .diff_id = layer->diff_id,
                                   .dir = making->tree,
                                   .dir_fd = making->tree_fd };
    int r = image_unpack(&unpack, err);

    return r == SBR_E_UNSUPPORTED ? unpack_in_memory(turn, making, fd, layer, err) : r;
}

static int make_layer(const struct turn *turn, const struct user_dir *root,
                      const struct image_layer *layer, sbr_error *err)
{
    scoped_fd int fd = -1;
    struct image_making making;
    int r;

    if (image_making_begin(root, &making, err) < 0)
        return err->code;
    /* What is compared is what is unpacked, whoever else writes to the layout. */
    fd = image_manifest_layer(turn->layout->fd, layer, turn->layout->ours ? -1 : making.lock_fd,
                              err);
    if (fd >= 0)
        turn->room->packed += layer->size;
    r = fd < 0 ? err->code : unpack_layer(turn, &making, fd, layer, err);
    if (r == 0)
        r = image_unpack_count(making.tree_fd, turn->room, err);
    if (r == 0)
        r = image_making_place(&making, "layer", layer->key, err);
    image_making_done(&making);
    return r;
}

/* `image prune` removes no layer that is held: half of one would look like a whole one.  The fd of
 * the tree holds no lock; *held does. */
static int open_tree(const struct user_dir *root, const char *key, int *held, sbr_error *err)
{
    char path[SHA256_HEX_SIZE + 16];
    int fd = -1;

    snprintf(path, sizeof(path), "layer/%s", key);
    *held = openat(root->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*held >= 0 && flock(*held, LOCK_SH) == 0)
        fd = openat(*held, "tree", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? err_set_errno(err, "image", "a layer is gone; pull the image again") : fd;
}

/* A layer that is in the store is taken for its bytes only: an image that knows its digests, but
 * has it not, does not get it.  It counts as if it were unpacked now. */
static int take_stored(const struct turn *turn, const struct user_dir *root,
                       const struct image_layer *layer, sbr_error *err)
{
    scoped_fd int blob = -1, held = -1, tree = -1;

    if (!turn->layout->built && (blob = image_manifest_layer(turn->layout->fd, layer, -1, err)) < 0)
        return err->code;
    for (size_t i = 0; i + 1 < turn->number; i++)
        if (!strcmp(turn->manifest->layers[i].key, layer->key))
            return 0; /* the same layer twice takes no room, and gives none */
    tree = open_tree(root, layer->key, &held, err);
    if (tree < 0)
        return err->code;
    turn->room->packed += layer->size;
    return image_unpack_count(tree, turn->room, err);
}

static int take_layer(const struct turn *turn, const struct user_dir *root,
                      const struct image_layer *layer, sbr_error *err)
{
    if (is_there(root, "layer", layer->key))
        return take_stored(turn, root, layer, err);
    tell(turn->pull, "layer %zu of %zu (%.1f MiB)", turn->number, turn->manifest->n_layers,
         (double)layer->size / (1 << 20));
    return make_layer(turn, root, layer, err);
}

static int lay(const struct user_dir *root, const char *key, int tree_fd, sbr_error *err)
{
    scoped_fd int held = -1, fd = open_tree(root, key, &held, err);

    return fd < 0 ? err->code : image_merge(fd, tree_fd, err);
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
        r = lay(root, manifest->layers[i].key, making.tree_fd, err);
    if (r == 0)
        r = image_store_write_config(making.lock_fd, &manifest->config, err);
    if (r == 0)
        r = image_making_place(&making, "root", manifest->config_digest, err);
    image_making_done(&making);
    return r;
}

int image_pull_layout(const struct image_pull *pull, const struct image_here *layout, char id[65],
                      sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct image_manifest manifest;
    struct image_room room = { .max_size = pull->max_size };
    int r = 0;

    if (image_store_root(true, &root, err) < 0 ||
        image_manifest_read(layout->fd, layout->tag, &manifest, err) < 0)
        return err->code;
    for (size_t i = 0; r == 0 && i < manifest.n_layers; i++) {
        const struct turn turn = {
            .pull = pull, .layout = layout, .manifest = &manifest, .room = &room, .number = i + 1
        };

        r = take_layer(&turn, &root, &manifest.layers[i], err);
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
    struct image_ref parsed, from;
    int r;

    if (image_is_path(ref))
        return err_set(err, SBR_E_INVALID, "image",
                       "'%.200s' is a directory of this machine; give it to --image as it is", ref);
    if (image_ref_parse(ref, &parsed, err) < 0 ||
        tool_job_check("tar", "images need", "image", err) < 0)
        return err->code;
    from = parsed;
    if (from.transport == IMAGE_REGISTRY && image_daemon_has(from.name))
        from.transport = IMAGE_DAEMON; /* as with Docker, what is on this machine comes first */
    tell(pull, "fetching %s", parsed.name);
    r = image_fetch_begin(pull, &from, &fetch, err);
    if (r == 0) {
        bool local = parsed.transport == IMAGE_OCI;
        const struct image_here layout = { .fd = fetch.dir_fd,
                                           .tag = local ? parsed.tag : "",
                                           .ours = !local };

        r = image_pull_layout(pull, &layout, id, err);
    }
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
