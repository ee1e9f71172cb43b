#include "base/user_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/way.h"

enum place { PLACE_CHOSEN, PLACE_XDG, PLACE_HOME, PLACE_SHARED, N_PLACES };

int user_dir_fail(const struct user_dir_kind *kind, const char *what, const char *path,
                  sbr_error *err)
{
    char advice[120] = "";

    if (errno == ENOSPC || errno == EDQUOT)
        snprintf(advice, sizeof(advice), "%s", kind->when_full);
    else if (errno == EROFS || errno == EACCES || errno == EPERM || errno == ENOENT)
        snprintf(advice, sizeof(advice), " (%s can name a directory of your own)", kind->variable);
    return err_set_errno(err, kind->noun, "cannot %s '%.250s'%s", what, path, advice);
}

bool user_dir_is_foreign(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_uid != geteuid() && st.st_uid != 0;
}

const char *user_dir_home(void)
{
    const char *home = getenv("HOME");

    return home && home[0] == '/' && !user_dir_is_foreign(home) ? home : NULL;
}

const char *user_dir_temporary(void)
{
    const char *chosen = getenv("TMPDIR");
    char inside[USER_DIR_SIZE];
    scoped_fd int fd = -1;
    struct way way;
    int n;

    if (!chosen || chosen[0] != '/')
        return "/tmp";
    n = snprintf(inside, sizeof(inside), "%s/.sandbox-run", chosen);
    if (n < 0 || n >= (int)sizeof(inside))
        return "/tmp";
    way = way_follow(inside, &(struct way_rules){ .own = true });
    fd = way.fd;
    return fd < 0 || way.foreign ? "/tmp" : chosen;
}

static void shared_path(char path[USER_DIR_SIZE])
{
    snprintf(path, USER_DIR_SIZE, "/var/tmp/sandbox-run-%u", (unsigned int)geteuid());
}

/* False when the environment names no such place. */
static bool place_path(const struct user_dir_kind *kind, enum place place, char path[USER_DIR_SIZE])
{
    const struct {
        const char *variable, *below;
    } rows[N_PLACES] = {
        [PLACE_CHOSEN] = { kind->variable, "" },
        [PLACE_XDG] = { kind->xdg, "sandbox-run" },
        [PLACE_HOME] = { "HOME", kind->in_home },
        [PLACE_SHARED] = { NULL, kind->in_shared ? kind->in_shared : "" },
    };
    const char *below = rows[place].below;
    char shared[USER_DIR_SIZE];
    const char *base = shared;
    int n;

    if (place == PLACE_SHARED)
        shared_path(shared);
    else
        base = getenv(rows[place].variable);
    if (!base || !*base)
        return false;
    n = snprintf(path, USER_DIR_SIZE, "%s%s%s", base, *below ? "/" : "", below);
    if (n >= USER_DIR_SIZE)
        path[0] = '\0';
    return path[0] == '/' || place == PLACE_CHOSEN;
}

/* 1, 0 when it does not exist, or negative.  `path` is for errors. */
static int open_checked(const struct user_dir_kind *kind, const char *path, int no_links,
                        int *ret_fd, sbr_error *err)
{
    scoped_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | no_links);
    char what[40];
    struct stat st;

    snprintf(what, sizeof(what), "open the %s", kind->noun);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return user_dir_fail(kind, what, path, err);
    if (st.st_uid != geteuid())
        return err_set(err, SBR_E_DENIED, kind->noun,
                       "the %s '%.250s' belongs to user %u, not to you; set %s "
                       "to a directory of your own",
                       kind->noun, path, (unsigned int)st.st_uid, kind->variable);
    if (st.st_mode & kind->forbidden)
        return err_set(err, SBR_E_DENIED, kind->noun,
                       "others can %s the %s '%.250s'; `chmod 700` it, or set "
                       "%s to another directory",
                       st.st_mode & (S_IWGRP | S_IWOTH) ? "write to" : "look into", kind->noun,
                       path, kind->variable);
    *ret_fd = take_fd(fd);
    return 1;
}

/* A third user who can change a name on the way, as with sudo the owner of HOME, could lead us into
 * any directory of ours by a link.  A directory that the user chose may lie in another's, but is
 * then reached without links of theirs. */
static int check_way(const struct user_dir_kind *kind, enum place place, const char *path,
                     sbr_error *err)
{
    const struct way_rules rules = { .own = place != PLACE_CHOSEN,
                                     .own_links = place == PLACE_CHOSEN };
    struct way way = way_follow(path, &rules);
    scoped_fd int fd = way.fd;

    if (fd < 0 || !way.foreign)
        return 0;
    return err_set(err, SBR_E_DENIED, kind->noun,
                   "another user can change '%.150s' on the way to the %s '%.250s'; set %s to a "
                   "directory of your own",
                   way.name, kind->noun, path, kind->variable);
}

static int open_place(const struct user_dir_kind *kind, enum place place, const char *path,
                      int *ret_fd, sbr_error *err)
{
    char shared[USER_DIR_SIZE];
    scoped_fd int above = -1;
    int r;

    if (place != PLACE_SHARED)
        return check_way(kind, place, path, err) < 0 ? err->code
                                                     : open_checked(kind, path, 0, ret_fd, err);
    /* In /var/tmp every user may make names, and a link could lead into any directory of ours:
     * neither the name there nor the one below it may be a link. */
    shared_path(shared);
    r = open_checked(kind, shared, O_NOFOLLOW, &above, err);
    return r == 1 ? open_checked(kind, path, O_NOFOLLOW, ret_fd, err) : r;
}

/* Whether `rest` may be made in `parent` without the user having named it: in a directory of our
 * own (with sudo, HOME can be another user's) and at most two levels (a missing home is no home).
 */
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
    char prefix[USER_DIR_SIZE], parent[USER_DIR_SIZE] = "/";
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

/* Of the shared place, the upper directory is made and checked before anything is made in it. */
static int make_checked(const struct user_dir_kind *kind, enum place place, const char *path,
                        sbr_error *err)
{
    char shared[USER_DIR_SIZE], what[40];
    scoped_fd int above = -1;

    snprintf(what, sizeof(what), "make the %s", kind->noun);
    shared_path(shared);
    if (place == PLACE_SHARED && make_place(place, shared, false) < 0)
        return user_dir_fail(kind, what, shared, err);
    if (place == PLACE_SHARED && open_checked(kind, shared, O_NOFOLLOW, &above, err) < 0)
        return err->code;
    return make_place(place, path, false) < 0 ? user_dir_fail(kind, what, path, err) : 0;
}

/* As user_dir_open. */
static int try_place(const struct user_dir_kind *kind, enum place place, bool make,
                     struct user_dir *dir, sbr_error *err)
{
    scoped_fd int fd = -1;
    int r = open_place(kind, place, dir->path, &fd, err);
    char what[40];

    if (r == 0 && make) {
        if (make_checked(kind, place, dir->path, err) < 0)
            return err->code;
        r = open_place(kind, place, dir->path, &fd, err);
        if (r == 0)
            return err_set(err, SBR_E_SYSTEM, kind->noun, "the %s '%.250s' vanished", kind->noun,
                           dir->path);
    }
    if (r <= 0)
        return r;
    snprintf(what, sizeof(what), "write to the %s", kind->noun);
    if (make && kind->furnish(fd) < 0)
        return user_dir_fail(kind, what, dir->path, err);
    dir->fd = take_fd(fd);
    return 1;
}

/* A home that is full or open to others is an error, which its owner can correct; one that is not
 * ours, or cannot be written to, is skipped for the next place. */
static bool is_no_place(enum place place, const sbr_error *err)
{
    return place != PLACE_CHOSEN && place != PLACE_SHARED &&
           (err->sys_errno == EACCES || err->sys_errno == EROFS ||
            (err->code == SBR_E_DENIED && strncmp(err->message, "others", 6) != 0));
}

/* The place must not depend on whether it has to be made: a process that looks and one that makes
 * would use different ones. */
int user_dir_open(const struct user_dir_kind *kind, bool make, struct user_dir *ret, sbr_error *err)
{
    int r = 0;

    ret->fd = -1;
    for (enum place place = 0; place < N_PLACES; place++) {
        if (!place_path(kind, place, ret->path))
            continue;
        if (ret->path[0] != '/')
            return err_set(err, SBR_E_INVALID, kind->noun,
                           "%s must be an absolute path of less than %d bytes", kind->variable,
                           USER_DIR_SIZE);
        r = try_place(kind, place, make, ret, err);
        if (r == 0 && (place == PLACE_CHOSEN || make_place(place, ret->path, true) == 0))
            return 0;
        if (r > 0 || (r < 0 && !is_no_place(place, err)))
            return r;
    }
    return r;
}

bool user_dir_guess(const struct user_dir_kind *kind, char path[USER_DIR_SIZE])
{
    for (enum place place = 0; place < N_PLACES; place++)
        if (place_path(kind, place, path))
            return true;
    return false;
}

int user_dir_path(const struct user_dir_kind *kind, char *buf, size_t size, sbr_error *err)
{
    scoped_user_dir struct user_dir dir = { .fd = -1 };

    if (user_dir_open(kind, false, &dir, err) < 0)
        return err->code;
    snprintf(buf, size, "%s", dir.path);
    return 0;
}

void user_dir_done(struct user_dir *dir)
{
    scope_close_fd(&dir->fd);
    dir->fd = -1;
}
