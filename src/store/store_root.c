#include "store/store_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

const char *store_kind_name(enum store_kind kind)
{
    static const char *const names[N_STORE_KINDS] = {
        [STORE_ARTIFACT] = "artifact",
        [STORE_LAYER] = "layer",
        [STORE_PREPARED] = "prepared",
    };

    return names[kind];
}

int store_check_key(const char *key, sbr_error *err)
{
    if (!encoding_is_hex(key, SHA256_HEX_SIZE - 1))
        return err_set(err, SBR_E_INVALID, "cache", "'%.80s' is not the key of an entry", key);
    return 0;
}

void store_entry_name(enum store_kind kind, const char *key, char name[STORE_NAME_SIZE])
{
    snprintf(name, STORE_NAME_SIZE, "%s/%.64s", store_kind_name(kind), key);
}

int store_staging_name(char name[STORE_NAME_SIZE])
{
    char id[ENCODING_ID_SIZE];

    if (encoding_random_id(id) < 0)
        return -1;
    snprintf(name, STORE_NAME_SIZE, STORE_STAGING "/%s", id);
    return 0;
}

static const struct user_dir_kind cache = {
    .noun = "cache",
    .variable = "SANDBOX_RUN_CACHE",
    .xdg = "XDG_CACHE_HOME",
    .in_home = ".cache/sandbox-run",
    .when_full = " (`sandbox-run cache clear` makes room)",
    .forbidden = S_IWGRP | S_IWOTH,
    .furnish = store_root_furnish,
};

int store_fail(const char *what, const char *path, sbr_error *err)
{
    return user_dir_fail(&cache, what, path, err);
}

/* Programs that make backups leave it out: https://bford.info/cachedir/ */
static int tag_root(int fd)
{
    static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                              "# This directory is a cache of sandbox-run.\n";
    scoped_fd int file =
        openat(fd, "CACHEDIR.TAG", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (file < 0)
        return errno == EEXIST ? 0 : -1;
    return fd_write_all(file, tag, sizeof(tag) - 1);
}

/* STORE_STAGING is made last: where it is, all are. */
int store_root_furnish(int fd)
{
    const char *const names[] = { store_kind_name(STORE_ARTIFACT),
                                  store_kind_name(STORE_LAYER),
                                  store_kind_name(STORE_PREPARED),
                                  STORE_LOCKS,
                                  STORE_NOTES,
                                  STORE_STAGING };

    if (faccessat(fd, STORE_STAGING, F_OK, 0) == 0)
        return 0;
    if (tag_root(fd) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (mkdirat(fd, names[i], 0700) < 0 && errno != EEXIST)
            return -1;
    return 0;
}

static char redirected[USER_DIR_SIZE];

void store_root_redirect(const char *path)
{
    snprintf(redirected, sizeof(redirected), "%s", path ? path : "");
}

static int open_redirected(struct user_dir *ret, sbr_error *err)
{
    snprintf(ret->path, sizeof(ret->path), "%s", redirected);
    ret->fd = open(ret->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return ret->fd < 0 ? store_fail("open the cache", ret->path, err) : 1;
}

int store_root_open(bool make, struct user_dir *ret, sbr_error *err)
{
    if (redirected[0])
        return open_redirected(ret, err);
    return user_dir_open(&cache, make, ret, err);
}

bool store_guess_path(char path[STORE_PATH_SIZE])
{
    return user_dir_guess(&cache, path);
}

int store_path(char *buf, size_t size, sbr_error *err)
{
    return user_dir_path(&cache, buf, size, err);
}
