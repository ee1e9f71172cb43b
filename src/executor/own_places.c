#include "executor/own_places.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "executor/engine_socket.h"
#include "executor/store.h"
#include "plan/plan.h"
#include "workspace/state.h"

#define PLACE_SIZE 3000
#define MAX_DEPTH 1000 /* a tree that is moved about meanwhile has no end */

struct own_place {
    const char *noun;
    bool (*find)(char *path, size_t size);
};

#ifdef SBR_TEST_HOOKS
static bool is_left_out(void)
{
    return plan_list_has(getenv("SANDBOX_RUN_TEST_WITHOUT"), "own-places");
}
#else
static bool is_left_out(void)
{
    return false;
}
#endif

bool own_places_config(char *path, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n;

    if (config && config[0] == '/')
        n = snprintf(path, size, "%s/sandbox-run", config);
    else if (home && home[0] == '/')
        n = snprintf(path, size, "%s/.config/sandbox-run", home);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

static bool find_cache(char *path, size_t size)
{
    sbr_error ignored;

    return store_path(path, size, &ignored) == 0;
}

static bool find_state(char *path, size_t size)
{
    sbr_error ignored;

    return state_path(path, size, &ignored) == 0;
}

/* Of a path that need not be there, the directory in which its first missing name would be made. */
static int open_existing(const char *path, bool *ret_whole)
{
    char part[PLACE_SIZE];
    int fd;

    snprintf(part, sizeof(part), "%s", path);
    *ret_whole = true;
    while ((fd = open(part, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 && part[1]) {
        char *slash = strrchr(part, '/');

        *ret_whole = false;
        slash[slash == part] = '\0';
    }
    return fd;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether `top` is the directory or one of those above it.  By what they are: links and other names of a mount are no
 * way around it.  What cannot be looked at counts as found. */
static bool is_below(int dir_fd, const struct stat *top)
{
    scoped_fd int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat at, above;

    if (fd < 0 || fstat(fd, &at) < 0)
        return true;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        int parent;

        if (is_same(&at, top))
            return true;
        parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
            return true;
        close(fd);
        fd = parent;
        if (fstat(fd, &above) < 0)
            return true;
        if (is_same(&above, &at))
            return false; /* the root is above itself */
        at = above;
    }
    return true;
}

/* Of a file, the directory that it is in. */
static int open_directory_of(const char *source, const struct stat *st)
{
    char part[REQUEST_MAX_PATH];

    snprintf(part, sizeof(part), "%s", source);
    if (!S_ISDIR(st->st_mode)) {
        char *slash = strrchr(part, '/');

        slash[slash == part] = '\0';
    }
    return open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int check_written(const char *option, const char *source, const struct stat *st,
                         sbr_error *err)
{
    static const struct own_place places[] = {
        { "the cache", find_cache },
        { "the state", find_state },
        { "the settings", own_places_config },
    };
    scoped_fd int source_fd = open_directory_of(source, st);

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char path[PLACE_SIZE];
        scoped_fd int fd = -1;
        struct stat own;
        bool whole;

        if (!places[i].find(path, sizeof(path)))
            continue;
        fd = open_existing(path, &whole);
        if (fd < 0 || fstat(fd, &own) < 0 || source_fd < 0)
            return err_set_errno(err, "volumes", "%s: cannot compare '%.150s' with '%.150s'",
                                 option, source, path);
        if (is_below(fd, st) || (whole && is_below(source_fd, &own)))
            return err_set(err, SBR_E_DENIED, "volumes",
                           "%s: '%.150s' cannot be rw, since later runs trust %s of sandbox-run in "
                           "'%.150s'; name a directory apart, or bring it in as cow",
                           option, source, places[i].noun, path);
    }
    return 0;
}

int own_places_check(const char *option, const char *source, enum volume_mode mode, sbr_error *err)
{
    char socket[ENGINE_PATH_SIZE];
    struct stat st, dir;
    sbr_error ignored;

    if (is_left_out())
        return 0;
    if (lstat(source, &st) < 0)
        return err_set_errno(err, "volumes", "%s: cannot look at '%.200s'", option, source);
    if (engine_socket_path(socket, sizeof(socket), &ignored) == 0) {
        char *slash = strrchr(socket, '/');

        slash[slash == socket] = '\0';
        if (stat(socket, &dir) == 0 && is_same(&st, &dir))
            return err_set(err, SBR_E_DENIED, "volumes",
                           "%s: '%.200s' holds the socket of the engine, which no program may see; "
                           "name another directory",
                           option, source);
    }
    return mode == VOLUME_RW ? check_written(option, source, &st, err) : 0;
}
