/* Small texts.  A note is a digest of its name and text, and then the text: what a crash cut off, or
 * what is not ours, is no note. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "store/store_root.h"

#define SUM_LEN (SHA256_HEX_SIZE - 1)

static void note_path(const char *name, char path[STORE_NAME_SIZE])
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(name, strlen(name), hex);
    snprintf(path, STORE_NAME_SIZE, STORE_NOTES "/%s", hex);
}

static void note_sum(const char *name, const char *text, char hex[SHA256_HEX_SIZE])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add_text(&s, name);
    sha256_add_text(&s, text);
    sha256_finish_hex(&s, hex);
}

int store_note_read(const char *name, char *buf, size_t size)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char path[STORE_NAME_SIZE], found[SUM_LEN], expected[SHA256_HEX_SIZE];
    scoped_fd int fd = -1;
    sbr_error ignored; /* no store, no notes */
    ssize_t len;

    if (store_root_open(false, &root, &ignored) <= 0)
        return -1;
    note_path(name, path);
    fd = openat(root.fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fd_read_full(fd, found, sizeof(found)) != (ssize_t)sizeof(found))
        return -1;
    len = fd_read_full(fd, buf, size);
    if (len < 0 || (size_t)len >= size)
        return -1;
    buf[len] = '\0';
    note_sum(name, buf, expected);
    return memcmp(found, expected, sizeof(found)) == 0 ? (int)len : -1;
}

static int write_file(int root_fd, const char *path, const char *sum, const char *text)
{
    scoped_fd int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 || fd_write_all(fd, sum, SUM_LEN) < 0)
        return -1;
    return fd_write_all(fd, text, strlen(text));
}

void store_note_write(const char *name, const char *text)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    char path[STORE_NAME_SIZE], aside[STORE_NAME_SIZE], sum[SHA256_HEX_SIZE];
    sbr_error ignored; /* as above */

    if (strlen(text) > STORE_NOTE_MAX || store_root_open(true, &root, &ignored) <= 0 ||
        store_staging_name(aside) < 0)
        return;
    note_path(name, path);
    note_sum(name, text, sum);
    if (write_file(root.fd, aside, sum, text) < 0 || renameat(root.fd, aside, root.fd, path) < 0)
        (void)unlinkat(root.fd, aside, 0);
}
