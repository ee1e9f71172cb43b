#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/lock_file.h"
#include "base/tree_remove.h"

#define TOP "/var/tmp"
#define PREFIX "sandbox-run-pull-"
#define KEY_FILE "key" /* of the image that is fetched; without it the directory is no use */
#define ATTEMPTS 8

static void key_of(const struct image_ref *ref, char key[SHA256_HEX_SIZE])
{
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add_u64(&sum, ref->transport);
    sha256_add_text(&sum, ref->name);
    sha256_add_text(&sum, ref->tag);
    sha256_finish_hex(&sum, key);
}

/* Locks a directory of this user that no pull uses; -1: it is none. */
static int lock(const char *path)
{
    scoped_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
        lock_file_try(fd) != LOCK_FILE_HELD)
        return -1;
    /* Another process may have removed it before it was locked. */
    return fstat(fd, &st) == 0 && st.st_nlink > 0 ? take_fd(fd) : -1;
}

static bool has_key(int fd, const char *key)
{
    char found[SHA256_HEX_SIZE + 1];
    ssize_t n = fd_read_small(fd, KEY_FILE, found, sizeof(found));

    return n == SHA256_HEX_SIZE - 1 && !memcmp(found, key, (size_t)n);
}

/* Takes the directory with the key over, if there is one, and removes all others. */
static bool find(const char *key, struct image_fetch_dir *ret)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read_at(AT_FDCWD, TOP, &names) < 0)
        return false;
    for (size_t i = 0; i < names.n; i++) {
        char path[IMAGE_FETCH_DIR_SIZE];
        scoped_fd int fd = -1;

        if (strncmp(names.names[i], PREFIX, strlen(PREFIX)) != 0 ||
            snprintf(path, sizeof(path), TOP "/%s", names.names[i]) >= (int)sizeof(path) ||
            (fd = lock(path)) < 0)
            continue;
        if (key && ret->lock_fd < 0 && has_key(fd, key)) {
            snprintf(ret->path, sizeof(ret->path), "%s", path);
            ret->lock_fd = take_fd(fd);
        } else {
            (void)tree_remove(AT_FDCWD, path);
        }
    }
    return key && ret->lock_fd >= 0;
}

static bool write_key(int dir_fd, const char *key)
{
    scoped_fd int fd =
        openat(dir_fd, KEY_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    return fd >= 0 && fd_write_all(fd, key, strlen(key)) == 0;
}

static bool make(const char *key, struct image_fetch_dir *ret)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        snprintf(ret->path, sizeof(ret->path), TOP "/" PREFIX "XXXXXX");
        if (!mkdtemp(ret->path))
            break;
        ret->lock_fd = lock(ret->path);
        if (ret->lock_fd >= 0)
            return mkdirat(ret->lock_fd, "layout", 0700) == 0 && write_key(ret->lock_fd, key);
    }
    ret->path[0] = '\0';
    return false;
}

int image_fetch_dir_open(const struct image_ref *ref, struct image_fetch_dir *ret, sbr_error *err)
{
    char key[SHA256_HEX_SIZE];

    *ret = (struct image_fetch_dir){ .lock_fd = -1 };
    key_of(ref, key);
    if (!find(key, ret) && !make(key, ret)) {
        err_set_errno(err, "image", "cannot make a directory in " TOP);
        image_fetch_dir_done(ret);
        return err->code;
    }
    /* The parts stay; the image that they make is named anew. */
    (void)unlinkat(ret->lock_fd, "layout/index.json", 0);
    snprintf(ret->layout, sizeof(ret->layout), "%s/layout", ret->path);
    return 0;
}

void image_fetch_dir_done(struct image_fetch_dir *dir)
{
    if (dir->lock_fd >= 0 && dir->path[0])
        (void)tree_remove(AT_FDCWD, dir->path);
    scope_close_fd(&dir->lock_fd);
    dir->lock_fd = -1;
    dir->path[0] = '\0';
}

void image_fetch_dir_sweep(void)
{
    struct image_fetch_dir none = { .lock_fd = -1 };

    (void)find(NULL, &none);
}
