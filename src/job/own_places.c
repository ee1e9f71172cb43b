#include "job/job_trees.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user_dir.h"
#include "base/way.h"
#include "job/engine_socket.h"
#include "plan/plan.h"
#include "store/store.h"
#include "toolchain/toolchain_paths.h"

#define PLACE_SIZE 3000

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
    const char *config = getenv("XDG_CONFIG_HOME"), *home = user_dir_home();
    int n;

    if (config && config[0] == '/' && !user_dir_is_foreign(config))
        n = snprintf(path, size, "%s/sandbox-run", config);
    else if (home)
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

/* The directory itself, or the one that a file is in. */
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

struct written {
    const char *option, *source;
    const struct stat *st;
    int dir_fd; /* the source, or the directory that it is in */
};

/* Our directory must not be in the volume, hold it, or be found by a name that is in it. */
static int check_place(const struct written *w, const char *noun, const char *path, sbr_error *err)
{
    struct way way = way_walk(path, w->st);
    scoped_fd int fd = way.fd;
    struct stat own;

    if (fd < 0 || fstat(fd, &own) < 0 || w->dir_fd < 0)
        return err_set_errno(err, "volumes", "%s: cannot compare '%.150s' with '%.150s'", w->option,
                             w->source, path);
    if (way.crosses || way_is_below(fd, w->st) || (way.whole && way_is_below(w->dir_fd, &own)))
        return err_set(err, SBR_E_DENIED, "volumes",
                       "%s: '%.150s' cannot be rw, because later runs trust %s of sandbox-run in "
                       "'%.150s'; name a directory apart, or bring it in as cow",
                       w->option, w->source, noun, path);
    return 0;
}

/* Each file may be a link to another directory with settings, and so may the configuration. */
static int check_languages(const struct written *w, sbr_error *err)
{
    char path[PLACE_SIZE], pattern[PLACE_SIZE + 24];
    struct toolchain_paths found;
    int r = 0;

    if (!own_places_config(path, sizeof(path)))
        return 0;
    snprintf(pattern, sizeof(pattern), "%s/languages/*.yaml", path);
    toolchain_paths_expand(NULL, pattern, &found);
    for (size_t i = 0; r == 0 && i < found.n; i++)
        r = check_place(w, "a language", found.at[i], err);
    toolchain_paths_done(&found);
    snprintf(pattern, sizeof(pattern), "%s/languages", path);
    if (r == 0)
        r = check_place(w, "the languages", pattern, err);
    snprintf(pattern, sizeof(pattern), "%s/config.yaml", path);
    return r == 0 ? check_place(w, "the configuration", pattern, err) : r;
}

static int check_written(const char *option, const char *source, const struct stat *st,
                         sbr_error *err)
{
    static const struct own_place places[] = {
        { "the cache", find_cache },
        { "the state", find_state },
        { "the settings", own_places_config },
    };
    scoped_fd int dir_fd = open_directory_of(source, st);
    const struct written written = { option, source, st, dir_fd };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char path[PLACE_SIZE];

        if (places[i].find(path, sizeof(path)) &&
            check_place(&written, places[i].noun, path, err) < 0)
            return err->code;
    }
    return check_languages(&written, err);
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
        if (stat(socket, &dir) == 0 && way_is_same(&st, &dir))
            return err_set(err, SBR_E_DENIED, "volumes",
                           "%s: '%.200s' holds the socket of the engine, which no program may see; "
                           "name another directory",
                           option, source);
    }
    return mode == VOLUME_RW ? check_written(option, source, &st, err) : 0;
}
