/* Lists the entries, and bounds the size of all artifacts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "base/text.h"
#include "store/store_entry.h"

#define BOUND_PRESET GIB
#define ENTRY_COST (16 * KIB) /* directories and records, so that empty artifacts are not free */
#define IN_USE_SECONDS 600    /* a program may still be running from it */

struct items {
    struct store_item *v;
    size_t n;
};

/* 1, 0 when it vanished meanwhile, or negative. */
static int read_item(int kind_fd, struct store_item *item, sbr_error *err)
{
    scoped_fd int fd = openat(kind_fd, item->key, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct store_meta meta = { 0 };
    struct stat st;
    int r;

    if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
        return errno == ENOENT ? 0 : err_set_errno(err, "cache", "cannot read an entry");
    r = fd < 0 ? 0 : store_meta_read(fd, false, &meta, err);
    if (r < 0)
        return r;
    item->damaged = r == 0 || meta.kind != item->kind || strcmp(meta.key, item->key) != 0;
    if (item->damaged) {
        if (fstatat(kind_fd, item->key, &st, AT_SYMLINK_NOFOLLOW) == 0)
            item->used = st.st_mtime;
        return 1;
    }
    memcpy(item->about, meta.about, sizeof(item->about));
    item->bytes = meta.bytes;
    item->files = meta.files;
    item->used = meta.used.tv_sec;
    return 1;
}

static int collect(const struct user_dir *root, enum store_kind kind, struct items *items,
                   sbr_error *err)
{
    scoped_fd int fd = openat(root->fd, store_kind_name(kind), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_listing struct listing names = { 0 };
    struct store_item *grown;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || listing_read(fd, &names) < 0)
        return store_fail("list the cache", root->path, err);
    grown = realloc(items->v, (items->n + names.n + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "cache");
    items->v = grown;
    for (size_t i = 0; i < names.n; i++) {
        struct store_item *item = &grown[items->n];
        int r;

        if (!encoding_is_hex(names.names[i], SHA256_HEX_SIZE - 1))
            continue;
        *item = (struct store_item){ .kind = kind };
        memcpy(item->key, names.names[i], SHA256_HEX_SIZE);
        r = read_item(fd, item, err);
        if (r < 0)
            return r;
        items->n += r == 1;
    }
    return 0;
}

/* Kind by kind, last used first. */
static int compare_items(const void *a, const void *b)
{
    const struct store_item *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->used != y->used)
        return x->used > y->used ? -1 : 1;
    return strcmp(x->key, y->key);
}

static void items_sort(struct items *items)
{
    if (items->n)
        qsort(items->v, items->n, sizeof(*items->v), compare_items);
}

int store_list(store_visit *visit, void *context, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct items items = { 0 };
    int r = store_root_open(false, &root, err);

    if (r <= 0)
        return r;
    r = 0;
    for (enum store_kind kind = 0; r == 0 && kind < N_STORE_KINDS; kind++)
        r = collect(&root, kind, &items, err);
    items_sort(&items);
    for (size_t i = 0; r == 0 && i < items.n; i++)
        r = visit(context, &items.v[i]);
    free(items.v);
    return r;
}

int store_bound(uint64_t *ret_bytes, sbr_error *err)
{
    const char *text = getenv("SANDBOX_RUN_CACHE_MAX");
    enum text_fault fault;

    *ret_bytes = BOUND_PRESET;
    fault = text && *text ? text_parse_size(text, ret_bytes) : TEXT_OK;
    if (fault != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "cache",
                       "SANDBOX_RUN_CACHE_MAX '%.60s' %s; write it as 500m", text,
                       text_fault_reason(fault));
    return 0;
}

/* Removes least recently used artifacts until a tenth of the bound is free, so that not every
 * commit has to look again.  What was used just now may be running: it stays unless that would be
 * twice the bound.  Returns the size of what is left. */
static uint64_t prune_items(const struct user_dir *root, const struct items *items, uint64_t bound,
                            const char *keep)
{
    uint64_t total = 0, target = bound - bound / 10;
    int64_t now = time(NULL);

    for (size_t i = 0; i < items->n; i++)
        total += items->v[i].bytes + ENTRY_COST;
    for (size_t i = items->n; i > 0 && total > target; i--) {
        const struct store_item *item = &items->v[i - 1];
        bool in_use = now - item->used < IN_USE_SECONDS && !item->damaged;

        if (!strcmp(item->key, keep) || (in_use && total / 2 <= bound))
            continue;
        if (store_entry_remove(root, STORE_ARTIFACT, item->key) == 0)
            total -= item->bytes + ENTRY_COST;
    }
    return total;
}

static uint64_t prune(const struct user_dir *root, uint64_t bound, const char *keep)
{
    struct items items = { 0 };
    uint64_t total = bound; /* if it cannot be counted, the next commit tries again */
    sbr_error err;

    if (collect(root, STORE_ARTIFACT, &items, &err) < 0) {
        log_info("cache", "%s", err.message);
    } else {
        items_sort(&items);
        total = prune_items(root, &items, bound, keep);
    }
    free(items.v);
    return total;
}

/* A running total beside the artifacts spares each commit a look at all of them.  It only errs
 * upwards, because removals are not subtracted; then a commit looks, and it is right again. */
void store_bound_keep(const struct user_dir *root, const struct store_meta *added)
{
    scoped_fd int fd =
        openat(root->fd, STORE_TOTAL, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    uint64_t bound, total = 0;
    sbr_error ignored; /* store_stage reported it */

    if (fd < 0 || store_bound(&bound, &ignored) < 0)
        return;
    if (lock_file_wait(fd) < 0)
        return;
    if (pread(fd, &total, sizeof(total), 0) != (ssize_t)sizeof(total))
        total = bound; /* never counted, or lost in a crash */
    if (__builtin_add_overflow(total, added->bytes + ENTRY_COST, &total) || total > bound)
        total = prune(root, bound, added->key);
    if (pwrite(fd, &total, sizeof(total), 0) != (ssize_t)sizeof(total))
        log_info("cache", "the size of the cache cannot be noted");
}
