#include "store/store_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/tree_remove.h"

#define TOUCH_AFTER 60 /* seconds: often enough for the order of use, rare enough to cost nothing */

/* When the machine started, as file times count.  A clock that was set since shifts it; then an
 * entry is read once more than needed. */
static int64_t boot_time(struct timespec now)
{
    struct timespec up;

    clock_gettime(CLOCK_BOOTTIME, &up);
    return now.tv_sec - up.tv_sec;
}

static void mark_used(int entry_fd, const struct store_meta *meta, struct timespec now)
{
    int64_t age = now.tv_sec - meta->used.tv_sec;

    if (age < -TOUCH_AFTER || age > TOUCH_AFTER || meta->used.tv_sec < boot_time(now))
        (void)utimensat(entry_fd, META_NAME, NULL,
                        AT_SYMLINK_NOFOLLOW); /* a failure makes it look unused */
}

/* The fault is a lack of ours and says nothing about the entry. */
static bool is_our_trouble(const sbr_error *err)
{
    return err->code == SBR_E_NO_MEMORY || err->sys_errno == EMFILE || err->sys_errno == ENFILE ||
           err->sys_errno == ENOMEM;
}

/* Reads all of it.  Returns as store_entry_check. */
static int check_content(int entry_fd, const struct store_meta *meta, sbr_error *err)
{
    struct store_meta fresh = *meta;
    struct store_tree_scan scan;
    sbr_error why;
    int r = store_tree_scan(entry_fd, TREE_NAME, false, &scan, &why);

    if (r < 0 && is_our_trouble(&why)) {
        *err = why;
    } else {
        r = r == 0 && !strcmp(scan.digest, meta->digest);
        /* On a full or read-only disk it is read again next time. */
        if (r == 1 && store_meta_write(entry_fd, &fresh, &scan.list) < 0)
            log_debug("cache", "%s: the new identity cannot be kept", meta->key);
    }
    store_tree_scan_done(&scan);
    return r;
}

/* Layers are large and made of many files.  They are looked at once per boot, because a crash of
 * the machine loses what was not written yet. */
static int check_identity(int entry_fd, const struct store_meta *meta, struct timespec now)
{
    bool this_boot = meta->used.tv_sec >= boot_time(now);
    struct stat st;

    if (!meta->list)
        return fstatat(entry_fd, TREE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    return (this_boot || meta->kind != STORE_ARTIFACT) &&
           store_tree_unchanged(entry_fd, meta->list, meta->list_len);
}

static int check_open(int entry_fd, const struct store_meta *expected, enum store_trust trust,
                      sbr_error *err)
{
    scoped_meta struct store_meta meta = { 0 };
    bool with_list = expected->kind == STORE_ARTIFACT;
    struct timespec now;
    int r = store_meta_read(entry_fd, with_list, &meta, err);

    clock_gettime(CLOCK_REALTIME, &now);
    if (r == 1 && !with_list && meta.used.tv_sec < boot_time(now))
        r = store_meta_read(entry_fd, true, &meta, err);
    if (r <= 0)
        return r;
    if (meta.kind != expected->kind || strcmp(meta.key, expected->key) != 0)
        return 0;
    if (trust == TRUST_NOTHING || !check_identity(entry_fd, &meta, now))
        r = check_content(entry_fd, &meta, err);
    else
        mark_used(entry_fd, &meta, now);
    return r;
}

int store_entry_check(const struct user_dir *root, enum store_kind kind, const char *key,
                      enum store_trust trust, sbr_error *err)
{
    struct store_meta expected = { .kind = kind };
    struct stat before, st;
    char name[STORE_NAME_SIZE];
    scoped_fd int fd = -1;
    int r;

    memcpy(expected.key, key, SHA256_HEX_SIZE);
    store_entry_name(kind, key, name);
    fd = openat(root->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
        return store_fail("open an entry of", root->path, err);
    r = fd < 0 ? 0 : check_open(fd, &expected, trust, err);
    if (r != 0)
        return r;
    /* Another process may have put a sound entry there meanwhile. */
    if (fd >= 0 &&
        (fstat(fd, &before) < 0 || fstatat(root->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
         before.st_ino != st.st_ino))
        return 0;
    log_info("cache", "%s is damaged and will be made again", name);
    if (store_entry_remove(root, kind, key) < 0)
        return store_fail("remove a damaged entry from", root->path, err);
    return 0;
}

int store_entry_remove(const struct user_dir *root, enum store_kind kind, const char *key)
{
    char name[STORE_NAME_SIZE], aside[STORE_NAME_SIZE], meta[STORE_NAME_SIZE + 8];
    struct stat st;

    store_entry_name(kind, key, name);
    /* Gone at once; a removal that is interrupted is finished by the next sweep. */
    if (store_staging_name(aside) == 0 && renameat(root->fd, name, root->fd, aside) == 0)
        return tree_remove(root->fd, aside);
    if (errno == ENOENT && fstatat(root->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    /* No space for a name: without `meta` it is no entry. */
    snprintf(meta, sizeof(meta), "%s/" META_NAME, name);
    if (unlinkat(root->fd, meta, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
        return -1;
    return tree_remove(root->fd, name);
}
