/* Keeps the cache within an age and a size.  An entry that a run uses is locked (store_hold) and
 * stays; one that was used just now stays, too, because its run may be about to lock it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lock_file.h"
#include "store/store_entry.h"

#define IN_USE_SECONDS 600

struct kept {
    struct store_item *v;
    size_t n;
};

int store_hold(const struct store_entry *entry)
{
    scoped_fd int fd = open(entry->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0)
        return -1;
    return take_fd(fd);
}

static int add_item(void *context, const struct store_item *item)
{
    struct kept *kept = context;
    struct store_item *grown = realloc(kept->v, (kept->n + 1) * sizeof(*grown));

    if (!grown)
        return SBR_E_NO_MEMORY;
    kept->v = grown;
    grown[kept->n++] = *item;
    return 0;
}

static int compare_use(const void *a, const void *b)
{
    const struct store_item *x = a, *y = b;

    return (x->used > y->used) - (x->used < y->used);
}

/* False when a run has it. */
static bool remove_unused(const struct user_dir *root, const struct store_item *item)
{
    char name[STORE_NAME_SIZE], tree[STORE_NAME_SIZE + 8];
    scoped_fd int fd = -1;

    store_entry_name(item->kind, item->key, name);
    snprintf(tree, sizeof(tree), "%s/tree", name);
    fd = openat(root->fd, tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && lock_file_try(fd) != LOCK_FILE_HELD)
        return false;
    return store_entry_remove(root, item->kind, item->key) == 0;
}

int store_retain(uint64_t seconds, uint64_t bytes, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct kept kept = { .n = 0 };
    int64_t now = time(NULL);
    uint64_t total = 0;
    int r = store_root_open(false, &root, err);

    if (r <= 0)
        return r;
    r = store_list(add_item, &kept, err);
    if (kept.n)
        qsort(kept.v, kept.n, sizeof(*kept.v), compare_use);
    for (size_t i = 0; i < kept.n; i++)
        total += kept.v[i].bytes;
    for (size_t i = 0; r == 0 && i < kept.n; i++) {
        const struct store_item *item = &kept.v[i];
        uint64_t idle = now > item->used ? (uint64_t)(now - item->used) : 0;

        if (idle >= IN_USE_SECONDS && (idle >= seconds || total > bytes) &&
            remove_unused(&root, item))
            total -= item->bytes;
    }
    free(kept.v);
    return r < 0 ? r : 0;
}
