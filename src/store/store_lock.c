/* One maker at a time, and the removal of what dead ones left behind. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/lock_file.h"
#include "base/staging_dir.h"
#include "store/store_entry.h"

#define ATTEMPTS 8

int store_lock(enum store_kind kind, const char *key, int *ret_fd, sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char name[STORE_NAME_SIZE];
    int r = LOCK_FILE_BUSY;

    if (store_check_key(key, err) < 0 || store_root_open(true, &root, err) < 0)
        return err->code;
    snprintf(name, sizeof(name), STORE_LOCKS "/%s-%.64s", store_kind_name(kind), key);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        /* A process that sweeps holds it for an instant. */
        const struct timespec instant = { .tv_nsec = 200000 };

        r = lock_file_open(root.fd, name, ret_fd);
        if (r != LOCK_FILE_BUSY)
            break;
        nanosleep(&instant, NULL);
    }
    if (r < 0)
        return store_fail("lock an entry of", root.path, err);
    return r == LOCK_FILE_HELD ? STORE_LOCKED : STORE_BUSY;
}

static void sweep_lock(int dir_fd, const char *name, int64_t older)
{
    const char *dash = strchr(name, '-');

    (void)older;
    if (dash && encoding_is_hex(dash + 1, SHA256_HEX_SIZE - 1))
        staging_dir_sweep_one(dir_fd, name);
}

static void sweep_note(int dir_fd, const char *name, int64_t older)
{
    struct stat st;

    if ((encoding_is_hex(name, SHA256_HEX_SIZE - 1) || /* or the rest of a crash */
         encoding_is_hex(name, ENCODING_ID_SIZE - 1)) &&
        fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime >= older)
        (void)unlinkat(dir_fd, name, 0);
}

void store_sweep_root(const struct user_dir *root, int64_t notes_older)
{
    static const struct {
        const char *dir;
        void (*sweep)(int dir_fd, const char *name, int64_t older);
    } rows[] = { { STORE_LOCKS, sweep_lock }, { STORE_NOTES, sweep_note } };
    scoped_fd int staging =
        openat(root->fd, STORE_STAGING, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (staging >= 0)
        staging_dir_sweep(staging);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        scoped_fd int fd =
            openat(root->fd, rows[i].dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        scoped_listing struct listing names = { 0 };

        if (fd >= 0 && listing_read(fd, &names) == 0)
            for (size_t k = 0; k < names.n; k++)
                rows[i].sweep(fd, names.names[k], notes_older);
    }
}

int store_sweep(sbr_error *err)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    int r = store_root_open(false, &root, err);

    if (r == 1)
        store_sweep_root(&root, 0);
    return r < 0 ? r : 0;
}
