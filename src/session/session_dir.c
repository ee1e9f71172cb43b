#include "session/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/lock_file.h"
#include "base/tree_remove.h"

#define STATE_SPARES "spares"
#define SPARES_MAX 8
#define BEGUN_S 10 /* then its maker has locked it, or is dead */
#define FILE_MAX ((size_t)64 << 20)

static bool is_id(const char *name)
{
    return encoding_is_hex(name, SESSION_ID_SIZE - 1);
}

static int open_dir(const struct state_dir *all, const char *id, struct session_dir *ret)
{
    *ret = SESSION_DIR_NONE;
    snprintf(ret->id, sizeof(ret->id), "%.12s", id);
    ret->fd = openat(all->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return ret->fd < 0 ? -1 : 0;
}

static int choose_id(char id[ENCODING_ID_SIZE], sbr_error *err)
{
    if (encoding_random_id(id) < 0)
        return err_set_errno(err, "session", "cannot choose a name");
    id[SESSION_ID_SIZE - 1] = '\0';
    return 0;
}

static int make_in(const struct state_dir *all, const char *id, struct session_dir *ret,
                   sbr_error *err)
{
    if (mkdirat(all->fd, id, 0700) < 0 || open_dir(all, id, ret) < 0)
        return state_fail("make the session", all->path, err);
    if (lock_file_open(ret->fd, SESSION_LOCK, &ret->lock_fd) != LOCK_FILE_HELD) {
        session_dir_close(ret);
        return state_fail("lock the session", all->path, err);
    }
    return 0;
}

int session_dir_make(struct session_dir *ret, sbr_error *err)
{
    char id[ENCODING_ID_SIZE];
    struct state_dir all;
    int r;

    *ret = SESSION_DIR_NONE;
    if (choose_id(id, err) < 0 || state_open(STATE_SESSIONS, true, &all, err) < 0)
        return err->code;
    r = make_in(&all, id, ret, err);
    state_close(&all);
    return r;
}

/* Removes the spare if its supervisor is dead. */
static void sweep_spare(const struct state_dir *all, const char *name)
{
    struct session_dir dir;
    struct stat st;

    if (open_dir(all, name, &dir) < 0)
        return;
    if (fstat(dir.fd, &st) == 0 && st.st_mtim.tv_sec + BEGUN_S < time(NULL) &&
        !session_dir_is_alive(&dir))
        (void)!tree_remove(all->fd, name);
    session_dir_close(&dir);
}

static int make_spare_in(const struct state_dir *all, const char *id, struct session_dir *ret,
                         sbr_error *err)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read_at(all->fd, ".", &names) < 0)
        return state_fail("read", all->path, err);
    for (size_t i = 0; i < names.n; i++)
        sweep_spare(all, names.names[i]);
    if (names.n >= SPARES_MAX)
        return err_set(err, SBR_E_BUSY, "session", "%d spare sessions are there", SPARES_MAX);
    return make_in(all, id, ret, err);
}

int session_dir_make_spare(const char *id, struct session_dir *ret, sbr_error *err)
{
    struct state_dir all;
    int r;

    *ret = SESSION_DIR_NONE;
    if (state_open(STATE_SPARES, true, &all, err) < 0)
        return err->code;
    r = make_spare_in(&all, id, ret, err);
    state_close(&all);
    return r;
}

int session_dir_open_spare(const char *id, struct session_dir *ret)
{
    struct state_dir all;
    sbr_error ignored; /* then there is none */
    int r;

    *ret = SESSION_DIR_NONE;
    if (state_open(STATE_SPARES, false, &all, &ignored) <= 0)
        return -1;
    r = open_dir(&all, id, ret);
    state_close(&all);
    return r;
}

static int move_to(const struct state_dir *spares, const struct state_dir *all,
                   struct session_dir *dir, sbr_error *err)
{
    char id[ENCODING_ID_SIZE];

    if (choose_id(id, err) < 0)
        return err->code;
    if (renameat(spares->fd, dir->id, all->fd, id) < 0)
        return state_fail("make the session", all->path, err);
    memcpy(dir->id, id, sizeof(dir->id));
    return 0;
}

int session_dir_adopt(struct session_dir *dir, sbr_error *err)
{
    struct state_dir spares, all;
    int r;

    if (state_open(STATE_SPARES, true, &spares, err) < 0)
        return err->code;
    r = state_open(STATE_SESSIONS, true, &all, err);
    if (r >= 0) {
        r = move_to(&spares, &all, dir, err);
        state_close(&all);
    }
    state_close(&spares);
    return r;
}

void session_dir_remove_spare(const struct session_dir *dir)
{
    struct state_dir all;
    sbr_error ignored; /* the next maker removes it */

    if (state_open(STATE_SPARES, false, &all, &ignored) <= 0)
        return;
    (void)!tree_remove(all.fd, dir->id);
    state_close(&all);
}

static int not_there(const char *id, sbr_error *err)
{
    return err_set(err, SBR_E_NOT_FOUND, "session",
                   "there is no session '%.40s'; `sandbox-run session list` shows those that are",
                   id);
}

static int open_named(const struct state_dir *all, const char *id, struct session_dir *ret,
                      sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    const char *found = NULL;
    size_t len = strlen(id);

    if (listing_read_at(all->fd, ".", &names) < 0)
        return state_fail("read", all->path, err);
    for (size_t i = 0; i < names.n; i++) {
        if (!is_id(names.names[i]) || strncmp(names.names[i], id, len) != 0)
            continue;
        if (found)
            return err_set(err, SBR_E_INVALID, "session",
                           "more than one session begins with '%.40s'; give more of its id", id);
        found = names.names[i];
    }
    if (!found || len == 0 || open_dir(all, found, ret) < 0)
        return not_there(id, err);
    return 0;
}

int session_dir_open(const char *id, struct session_dir *ret, sbr_error *err)
{
    struct state_dir all;
    int r;

    *ret = SESSION_DIR_NONE;
    r = state_open(STATE_SESSIONS, false, &all, err);
    if (r < 0)
        return r;
    if (r == 0)
        return not_there(id, err);
    r = open_named(&all, id, ret, err);
    state_close(&all);
    return r;
}

static int visit(const struct state_dir *all, int (*one)(void *, const struct session_dir *),
                 void *context, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    int r = 0;

    if (listing_read_at(all->fd, ".", &names) < 0)
        return state_fail("read", all->path, err);
    for (size_t i = 0; r >= 0 && i < names.n; i++) {
        struct session_dir dir;

        if (!is_id(names.names[i]) || open_dir(all, names.names[i], &dir) < 0)
            continue; /* closed in the meantime */
        r = one(context, &dir);
        session_dir_close(&dir);
    }
    return r;
}

int session_dir_each(int (*one)(void *context, const struct session_dir *dir), void *context,
                     sbr_error *err)
{
    struct state_dir all;
    int r = state_open(STATE_SESSIONS, false, &all, err);

    if (r <= 0)
        return r;
    r = visit(&all, one, context, err);
    state_close(&all);
    return r;
}

bool session_dir_is_alive(const struct session_dir *dir)
{
    scoped_fd int fd = openat(dir->fd, SESSION_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && lock_file_is_held(fd);
}

int session_dir_write(const struct session_dir *dir, const char *name, const char *text,
                      sbr_error *err)
{
    char made[64];
    scoped_fd int fd = -1;

    snprintf(made, sizeof(made), "%s.new", name);
    fd = openat(dir->fd, made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0 ||
        renameat(dir->fd, made, dir->fd, name) < 0)
        return err_set_errno(err, "session", "cannot write '%s' of the session", name);
    return 0;
}

char *session_dir_read(const struct session_dir *dir, const char *name)
{
    scoped_fd int fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *text = NULL;
    sbr_error ignored;
    size_t len;

    return fd >= 0 && fd_read_text(fd, FILE_MAX, &text, &len, &ignored) == 0 ? text : NULL;
}

int session_dir_remove(const struct session_dir *dir, sbr_error *err)
{
    struct state_dir all;
    int r = state_open(STATE_SESSIONS, false, &all, err);

    if (r <= 0)
        return r;
    r = tree_remove(all.fd, dir->id) < 0 ? state_fail("remove", all.path, err) : 0;
    state_close(&all);
    return r;
}

void session_dir_close(struct session_dir *dir)
{
    scope_close_fd(&dir->lock_fd);
    scope_close_fd(&dir->fd);
    dir->fd = dir->lock_fd = -1;
}

void session_dir_boot_id(char buf[SESSION_BOOT_SIZE])
{
    if (fd_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, SESSION_BOOT_SIZE) <= 0)
        buf[0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
}
