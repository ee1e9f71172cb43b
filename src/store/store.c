/* Theory.  Everything in the store can be made again, so nothing is ever flushed to the disk and no
 * caller waits for it: an entry that a crash, a full disk or an editor damaged is recognised when
 * it is used, removed, and made again.
 *
 *   (1) An entry is made in staging/ID and renamed: other processes see it whole or not at all.
 *       The first rename wins; directories cannot be renamed over one another.
 *   (2) `meta` and `list` are records (base/record.h), and `meta` has a digest of the tree.  A
 *       crash can leave them cut off, or the tree without contents, but not with the right digest.
 *   (3) Reading everything before each run would cost more than compiling.  So `list` has the
 *       identity of all that is in the tree (mode, size, times, inode).  Where that is unchanged,
 *       and the last look was in this boot of the machine, so are the contents: within a boot the
 *       page cache has what was written.  Otherwise an artifact is read.  If its digest is right,
 *       the records are written anew, for example after the cache was copied; if not, the entry
 *       goes.  Layers and prepared toolchains, which can be very large, are read only if the
 *       identity changed; sizes and times show what a crash lost.
 *   (4) The maker of an entry holds a lock on the directory in which it is made.  The kernel drops
 *       it with the process, so a directory that can be locked is removed by the next process.
 *   (5) The modification time of `meta` is that of the last use; the bound on artifacts goes by
 *       it. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/staging_dir.h"
#include "base/tree_remove.h"
#include "store/store_entry.h"

#define NOTES_KEPT (90 * 86400) /* seconds; a note that is still wanted is made again */
#define ATTEMPTS 8

static void fill_entry(const struct user_dir *root, enum store_kind kind, const char *key,
                       struct store_entry *ret)
{
    char name[STORE_NAME_SIZE];

    store_entry_name(kind, key, name);
    ret->kind = kind;
    memcpy(ret->key, key, SHA256_HEX_SIZE);
    snprintf(ret->path, sizeof(ret->path), "%s/%s/" TREE_NAME, root->path, name);
}

int store_find(enum store_kind kind, const char *key, struct store_entry *ret, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    int r;

    if (store_check_key(key, err) < 0)
        return err->code;
    r = store_root_open(false, &root, err);
    if (r == 1)
        r = store_entry_check(&root, kind, key, TRUST_IDENTITY, err);
    if (r == STORE_SOUND)
        fill_entry(&root, kind, key, ret);
    return r;
}

int store_verify(enum store_kind kind, const char *key, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    int r;

    if (store_check_key(key, err) < 0)
        return err->code;
    r = store_root_open(false, &root, err);
    return r == 1 ? store_entry_check(&root, kind, key, TRUST_NOTHING, err) : r;
}

int store_remove(enum store_kind kind, const char *key, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    int r;

    if (store_check_key(key, err) < 0)
        return err->code;
    r = store_root_open(false, &root, err);
    if (r == 1 && store_entry_remove(&root, kind, key) < 0)
        return store_fail("remove an entry from", root.path, err);
    return r < 0 ? r : 0;
}

int store_stage(enum store_kind kind, struct store_staging *ret, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct store_staging staging = { .kind = kind, .tree_fd = -1, .lock_fd = -1 };
    scoped_fd int parent = -1;
    char id[ENCODING_ID_SIZE];
    uint64_t bound;

    if (store_bound(&bound, err) < 0 || store_root_open(true, &root, err) < 0)
        return err->code;
    store_sweep_root(&root, NOTES_KEPT);
    parent = openat(root.fd, STORE_STAGING, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    staging.lock_fd = parent < 0 ? -1 : staging_dir_make(parent, id);
    if (staging.lock_fd < 0)
        return store_fail("write to the cache", root.path, err);
    snprintf(staging.path, sizeof(staging.path), "%s/" STORE_STAGING "/%s", root.path, id);
    /* The mode is exact, whatever the umask. */
    if (mkdirat(staging.lock_fd, TREE_NAME, 0700) == 0)
        staging.tree_fd =
            openat(staging.lock_fd, TREE_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (staging.tree_fd < 0 || fchmod(staging.tree_fd, 0755) < 0) {
        store_fail("write to the cache", root.path, err);
        store_discard(&staging);
        return err->code;
    }
    *ret = staging;
    return 0;
}

static void close_staging(struct store_staging *staging)
{
    scope_close_fd(&staging->tree_fd);
    scope_close_fd(&staging->lock_fd);
    staging->tree_fd = staging->lock_fd = -1;
}

void store_discard(struct store_staging *staging)
{
    if (staging->lock_fd < 0 || !staging->path[0]) /* used up, or all zero */
        return;
    (void)tree_remove(AT_FDCWD, staging->path); /* or the next sweep does */
    close_staging(staging);
}

/* 0: an entry is in place, ours or another process's. */
static int put_in_place(const struct user_dir *root, struct store_staging *staging,
                        const struct store_meta *meta, sbr_error *err)
{
    char name[STORE_NAME_SIZE];

    store_entry_name(meta->kind, meta->key, name);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int r;

        if (renameat(AT_FDCWD, staging->path, root->fd, name) == 0) {
            close_staging(staging);
            if (meta->kind == STORE_ARTIFACT)
                store_bound_keep(root, meta);
            return 0;
        }
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            break;
        r = store_entry_check(root, meta->kind, meta->key, TRUST_IDENTITY, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return store_fail("write to the cache", root->path, err);
}

static int commit(const struct user_dir *root, struct store_staging *staging,
                  struct store_meta *meta, sbr_error *err)
{
    struct store_tree_scan scan;
    int r = store_tree_scan(staging->lock_fd, TREE_NAME, true, &scan, err);

    if (r == 0) {
        memcpy(meta->digest, scan.digest, sizeof(meta->digest));
        meta->bytes = scan.bytes;
        meta->files = scan.files;
        if (store_meta_write(staging->lock_fd, meta, &scan.list) < 0 ||
            (staging->remark && store_remark_write(staging->lock_fd, staging->remark) < 0))
            r = store_fail("write to the cache", root->path, err);
    }
    store_tree_scan_done(&scan);
    return r < 0 ? r : put_in_place(root, staging, meta, err);
}

int store_commit(struct store_staging *staging, const char *key, const char *about,
                 struct store_entry *ret, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    struct store_meta meta = { .kind = staging->kind };
    int r = store_check_key(key, err);

    if (r == 0 && staging->lock_fd < 0)
        r = err_set(err, SBR_E_BUG, "cache", "nothing is staged");
    if (r == 0)
        r = store_root_open(true, &root, err);
    if (r > 0) {
        memcpy(meta.key, key, SHA256_HEX_SIZE);
        store_meta_set_about(&meta, about ? about : "");
        r = commit(&root, staging, &meta, err);
    }
    if (r == 0)
        fill_entry(&root, meta.kind, meta.key, ret);
    store_discard(staging);
    return r;
}
