#include "executor/store_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

enum place { PLACE_CHOSEN, PLACE_XDG, PLACE_HOME, PLACE_SHARED, N_PLACES };

const char *store_kind_name(enum store_kind kind)
{
    static const char *const names[N_STORE_KINDS] = {
        [STORE_ARTIFACT] = "artifact",
        [STORE_LAYER] = "layer",
        [STORE_PREPARED] = "prepared",
    };

    return names[kind];
}

bool store_is_hex(const char *name, size_t len)
{
    return strlen(name) == len && strspn(name, "0123456789abcdef") == len;
}

int store_check_key(const char *key, sbr_error *err)
{
    if (!store_is_hex(key, SHA256_HEX_SIZE - 1))
        return err_set(err, SBR_E_INVALID, "cache", "'%.80s' is not the key of an entry", key);
    return 0;
}

void store_entry_name(enum store_kind kind, const char *key, char name[STORE_NAME_SIZE])
{
    snprintf(name, STORE_NAME_SIZE, "%s/%.64s", store_kind_name(kind), key);
}

int store_staging_name(char name[STORE_NAME_SIZE])
{
    char id[ENCODE_ID_SIZE];

    if (encode_random_id(id) < 0)
        return -1;
    snprintf(name, STORE_NAME_SIZE, STORE_STAGING "/%s", id);
    return 0;
}

int store_fail(const char *what, const char *path, sbr_error *err)
{
    const char *advice = "";

    if (errno == ENOSPC || errno == EDQUOT)
        advice = " (`sandbox-run cache clear` makes room)";
    else if (errno == EROFS || errno == EACCES || errno == EPERM || errno == ENOENT)
        advice = " (SANDBOX_RUN_CACHE can name a directory of your own)";
    return err_set_errno(err, "cache", "cannot %s '%.250s'%s", what, path, advice);
}

/* False when the environment names no such place. */
static bool place_path(enum place place, char path[STORE_ROOT_SIZE])
{
    static const struct {
        const char *variable, *below;
    } rows[N_PLACES] = {
        [PLACE_CHOSEN] = { "SANDBOX_RUN_CACHE", "" },
        [PLACE_XDG] = { "XDG_CACHE_HOME", "/sandbox-run" },
        [PLACE_HOME] = { "HOME", "/.cache/sandbox-run" },
    };
    const char *base = place == PLACE_SHARED ? NULL : getenv(rows[place].variable);
    int n;

    if (place == PLACE_SHARED) {
        snprintf(path, STORE_ROOT_SIZE, "/var/tmp/sandbox-run-%u", (unsigned int)geteuid());
        return true;
    }
    if (!base || !*base)
        return false;
    n = snprintf(path, STORE_ROOT_SIZE, "%s%s", base, rows[place].below);
    if (n >= STORE_ROOT_SIZE)
        path[0] = '\0';
    return path[0] == '/' || place == PLACE_CHOSEN;
}

/* 1, 0 when it does not exist, or negative. */
static int open_place(enum place place, const char *path, int *ret_fd, sbr_error *err)
{
    /* Where everybody may make names, a link could lead into any directory of ours. */
    int no_links = place == PLACE_SHARED ? O_NOFOLLOW : 0;
    scoped_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | no_links);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return store_fail("open the cache", path, err);
    if (st.st_uid != geteuid())
        return err_set(err, SBR_E_DENIED, "cache",
                       "the cache '%.250s' belongs to user %u, not to you; set SANDBOX_RUN_CACHE "
                       "to a directory of your own",
                       path, (unsigned int)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, SBR_E_DENIED, "cache",
                       "others can write to the cache '%.250s'; `chmod 700` it, or set "
                       "SANDBOX_RUN_CACHE to another directory",
                       path);
    *ret_fd = take_fd(fd);
    return 1;
}

/* Whether `rest` may be made in `parent`, though nobody named it: in a directory of our own (with
 * sudo, HOME can be somebody else's) and no more than two levels (a home that is missing is none). */
static bool may_make(const char *parent, const char *rest)
{
    struct stat st;

    return stat(parent, &st) == 0 && st.st_uid == geteuid() &&
           faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0 &&
           strchr(rest, '/') == strrchr(rest, '/');
}

/* As `mkdir -p`; 0, or -1 with errno.  With `look`, nothing is made. */
static int make_place(enum place place, const char *path, bool look)
{
    bool anywhere = place == PLACE_CHOSEN || place == PLACE_SHARED;
    char prefix[STORE_ROOT_SIZE], parent[STORE_ROOT_SIZE] = "/";
    struct stat st;

    for (size_t at = 1; path[at - 1]; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        snprintf(prefix, sizeof(prefix), "%.*s", (int)at, path);
        if (stat(prefix, &st) < 0) {
            if (errno != ENOENT)
                return -1;
            if (!anywhere && !may_make(parent, path + at)) {
                errno = EACCES;
                return -1;
            }
            if (look)
                return 0;
            if (mkdir(prefix, 0700) < 0 && errno != EEXIST)
                return -1;
        }
        memcpy(parent, prefix, sizeof(parent));
    }
    return 0;
}

/* So that programs that make backups leave it out: https://bford.info/cachedir/ */
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

/* The last is made last: where it is, all are. */
static int furnish(int fd)
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

/* As store_root_open. */
static int try_place(enum place place, bool make, struct store_root *root, sbr_error *err)
{
    scoped_fd int fd = -1;
    int r = open_place(place, root->path, &fd, err);

    if (r == 0 && make) {
        if (make_place(place, root->path, false) < 0)
            return store_fail("make the cache", root->path, err);
        r = open_place(place, root->path, &fd, err);
        if (r == 0)
            return err_set(err, SBR_E_SYSTEM, "cache", "the cache '%.250s' vanished", root->path);
    }
    if (r <= 0)
        return r;
    if (make && furnish(fd) < 0)
        return store_fail("write to the cache", root->path, err);
    root->fd = take_fd(fd);
    return 1;
}

/* A home that is full or open to others is for its owner to mend; one that is not ours, or cannot be
 * written to, is none, and the next place is taken. */
static bool is_no_place(enum place place, const sbr_error *err)
{
    return place != PLACE_CHOSEN && place != PLACE_SHARED &&
           (err->sys_errno == EACCES || err->sys_errno == EROFS ||
            (err->code == SBR_E_DENIED && strncmp(err->message, "others", 6) != 0));
}

/* Which place it is must not depend on whether it has to be made: who looks and who makes would
 * each have their own. */
int store_root_open(bool make, struct store_root *ret, sbr_error *err)
{
    int r = 0;

    ret->fd = -1;
    for (enum place place = 0; place < N_PLACES; place++) {
        if (!place_path(place, ret->path))
            continue;
        if (ret->path[0] != '/')
            return err_set(err, SBR_E_INVALID, "cache",
                           "SANDBOX_RUN_CACHE must be an absolute path of less than %d bytes",
                           STORE_ROOT_SIZE);
        r = try_place(place, make, ret, err);
        if (r == 0 && (place == PLACE_CHOSEN || make_place(place, ret->path, true) == 0))
            return 0;
        if (r > 0 || (r < 0 && !is_no_place(place, err)))
            return r;
    }
    return r;
}

void store_root_done(struct store_root *root)
{
    scope_close_fd(&root->fd);
    root->fd = -1;
}

int store_path(char *buf, size_t size, sbr_error *err)
{
    scoped_root struct store_root root = { .fd = -1 };

    if (store_root_open(false, &root, err) < 0)
        return err->code;
    snprintf(buf, size, "%s", root.path);
    return 0;
}
