#include "init/disk_usage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define ROOT_SLACK 256 /* the scratch space has some inodes above the plan's share */

static void add_tree(struct disk_usage *usage, int fd, bool is_copy)
{
    struct disk_usage_tree *tree = &usage->trees[usage->n_trees++];

    *tree = (struct disk_usage_tree){ .fd = fd, .before.unlocks = true };
    if (is_copy)
        run_dir_measure(fd, UINT64_MAX, &tree->before);
    usage->most_files += tree->before.files;
}

static void add_device(struct disk_usage *usage, const struct inside *in, const char *path,
                       bool measured)
{
    struct stat st;

    if (usage->n_devices == DISK_USAGE_MAX_TREES ||
        fstatat(in->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    usage->measured[usage->n_devices] = measured;
    usage->devices[usage->n_devices++] = st.st_dev;
}

void disk_usage_init(struct disk_usage *usage, const struct inside *in)
{
    const struct plan *plan = in->plan;
    size_t n_uppers = 0, n_copies = 0;

    *usage = (struct disk_usage){ .most_files = plan->scratch_inodes + ROOT_SLACK };
    for (size_t i = 0; !plan->run_dir && i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];
        bool is_copy = op->kind == OP_BIND && op->flags & OP_OWN && n_copies < in->n_copies;
        bool is_disk = op->kind == OP_COW && op->upper && n_uppers < in->n_uppers;

        if (usage->n_trees < DISK_USAGE_MAX_TREES && is_copy)
            add_tree(usage, in->copies[n_copies], true);
        if (usage->n_trees < DISK_USAGE_MAX_TREES && is_disk)
            add_tree(usage, in->uppers[n_uppers], false);
        n_copies += is_copy;
        n_uppers += op->kind == OP_COW;
        if (op->kind == OP_COW || op->flags & OP_WRITABLE)
            add_device(usage, in, op->to, is_copy || is_disk);
    }
}

/* A copy may have become smaller; other trees may not use up the difference. */
static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

uint32_t disk_usage_look(const struct disk_usage *usage, int scratch_fd, uint64_t nameless)
{
    uint64_t bytes = nameless, files = 0;
    bool unseen = false;
    struct statfs fs;

    for (size_t i = 0; i < usage->n_trees; i++) {
        const struct disk_usage_tree *tree = &usage->trees[i];
        struct run_dir_use now = { .unlocks = true };

        run_dir_measure(tree->fd, usage->most_files, &now);
        bytes += growth(now.bytes, tree->before.bytes);
        files += growth(now.files, tree->before.files);
        unseen |= now.unseen && !tree->before.unseen;
    }
    if (!usage->n_trees || fstatfs(scratch_fd, &fs) < 0)
        return 0;
    if (bytes > (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize || unseen)
        return DISK_BYTES_FULL;
    return files > fs.f_ffree ? DISK_INODES_FULL : 0;
}
