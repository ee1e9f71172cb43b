#include "changes/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user_dir.h"

_Static_assert(USER_DIR_SIZE + 160 <= STATE_PATH_SIZE, "room for \"/staging/ID/tree/0\"");

/* STATE_STAGING is made last: where it is, all are. */
static int furnish(int fd)
{
    static const char *const names[] = { STATE_CHANGES, STATE_WORKSPACES, STATE_OUTPUT,
                                         STATE_STAGING };

    if (faccessat(fd, STATE_STAGING, F_OK, 0) == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (mkdirat(fd, names[i], 0700) < 0 && errno != EEXIST)
            return -1;
    return 0;
}

static const struct user_dir_kind state = {
    .noun = "state",
    .variable = "SANDBOX_RUN_STATE",
    .xdg = "XDG_STATE_HOME",
    .in_home = ".local/state/sandbox-run",
    .in_shared = "state",
    .when_full =
        " (`sandbox-run output rm --all`, `changes drop ID` and `workspace rm NAME` make room)",
    .forbidden = S_IRWXG | S_IRWXO,
    .furnish = furnish,
};

int state_fail(const char *what, const char *path, sbr_error *err)
{
    return user_dir_fail(&state, what, path, err);
}

int state_open(const char *name, bool make, struct state_dir *ret, sbr_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    scoped_user_dir struct user_dir root = { .fd = -1 };
    int r;

    ret->fd = -1;
    ret->path[0] = '\0';
    r = user_dir_open(&state, make, &root, err);
    if (r <= 0)
        return r;
    snprintf(ret->path, sizeof(ret->path), "%s/%s", root.path, name);
    ret->fd = openat(root.fd, name, flags);
    if (ret->fd < 0 && errno == ENOENT && !make)
        return 0;
    /* An older version made the state, without this one. */
    if (ret->fd < 0 && errno == ENOENT && mkdirat(root.fd, name, 0700) == 0)
        ret->fd = openat(root.fd, name, flags);
    return ret->fd < 0 ? state_fail("open", ret->path, err) : 1;
}

int state_path(char *buf, size_t size, sbr_error *err)
{
    return user_dir_path(&state, buf, size, err);
}

void state_close(struct state_dir *dir)
{
    scope_close_fd(&dir->fd);
    dir->fd = -1;
}
