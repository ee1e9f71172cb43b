#include "job/engine_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/peer.h"

#define SOCKET_NAME "engine.sock"
#define BACKLOG 4096 /* the kernel lowers it to what it allows */

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == ENGINE_PATH_SIZE, "size of a path");

/* Which directory the socket is in; engine_listen makes all but a chosen one. */
enum socket_place { SOCKET_CHOSEN, SOCKET_RUNTIME_DIR, SOCKET_RUN, SOCKET_TMP };

static enum socket_place socket_place(void)
{
    const char *chosen = getenv(ENGINE_SOCKET_ENV), *runtime = getenv("XDG_RUNTIME_DIR");

    if (chosen && *chosen)
        return SOCKET_CHOSEN;
    if (geteuid() == 0) /* a system service has no session directory */
        return SOCKET_RUN;
    return runtime && *runtime == '/' ? SOCKET_RUNTIME_DIR : SOCKET_TMP;
}

static int format_path(enum socket_place place, char *path, size_t size)
{
    switch (place) {
    case SOCKET_CHOSEN:
        return snprintf(path, size, "%s", getenv(ENGINE_SOCKET_ENV));
    case SOCKET_RUNTIME_DIR:
        return snprintf(path, size, "%s/sandbox-run/" SOCKET_NAME, getenv("XDG_RUNTIME_DIR"));
    case SOCKET_RUN:
        return snprintf(path, size, "/run/sandbox-run/" SOCKET_NAME);
    case SOCKET_TMP:
        break;
    }
    return snprintf(path, size, "/tmp/sandbox-run-%u/" SOCKET_NAME, (unsigned int)geteuid());
}

int engine_socket_path(char *path, size_t size, sbr_error *err)
{
    int n = format_path(socket_place(), path, size);

    if (n < 0 || (size_t)n >= size || n >= ENGINE_PATH_SIZE)
        return err_set(err, SBR_E_INVALID, "engine",
                       "the path of the engine's socket is too long; " ENGINE_SOCKET_ENV
                       " can name one of less than %d bytes",
                       ENGINE_PATH_SIZE);
    if (path[0] != '/')
        return err_set(err, SBR_E_INVALID, "engine", ENGINE_SOCKET_ENV " must be an absolute path");
    return 0;
}

static int engine_address(struct sockaddr_un *ret, sbr_error *err)
{
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    return engine_socket_path(ret->sun_path, sizeof(ret->sun_path), err);
}

static bool is_here;

void engine_is_here(void)
{
    is_here = true;
}

bool engine_is_unwanted(void)
{
    const char *word = getenv(ENGINE_COLD_ENV);

    return is_here || (word && *word && strcmp(word, "0") != 0);
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* The kernel says which process listens there, so nothing has to be known about the directory: a
 * program in a sandbox may have made both in a volume that it can write to. */
int engine_connect(int *ret_fd)
{
    struct sockaddr_un address;
    struct peer_home home;
    scoped_fd int fd = -1;
    sbr_error ignored;

    if (engine_address(&address, &ignored) < 0)
        return -1;
    fd = new_socket();
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    peer_look_home(&home);
    if (!peer_is_neighbour(fd, &home, NULL)) {
        log_info(
            "engine",
            "the process that listens at '%s' is another user, or lives in a sandbox or container",
            address.sun_path);
        return -1;
    }
    *ret_fd = take_fd(fd);
    return 0;
}

/* Refuses a directory of another user's, or one that other users may write to. */
static int check_directory(int fd, const char *path, sbr_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set_errno(err, "engine", "cannot look at '%.120s'", path);
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, SBR_E_DENIED, "engine",
                       "'%.120s' is not a directory that only you can write to; " ENGINE_SOCKET_ENV
                       " can name a socket in another one",
                       path);
    return 0;
}

static int open_directory(const struct sockaddr_un *address, int *ret_fd, sbr_error *err)
{
    bool chosen = socket_place() == SOCKET_CHOSEN;
    scoped_fd int fd = -1;
    char path[ENGINE_PATH_SIZE];

    snprintf(path, sizeof(path), "%s", address->sun_path);
    *strrchr(path, '/') = '\0';
    if (!chosen && mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set_errno(err, "engine", "cannot make '%.100s'", path);
    fd = open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC | (chosen ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return err_set_errno(err, "engine", "cannot open '%.100s'", path);
    if (!chosen && check_directory(fd, path, err) < 0)
        return err->code;
    *ret_fd = take_fd(fd);
    return 0;
}

static int is_running(const struct sockaddr_un *address, pid_t pid, sbr_error *err)
{
    char process[32] = "";

    if (pid > 0)
        snprintf(process, sizeof(process), ", process %d", (int)pid);
    return err_set(err, SBR_E_BUSY, "engine",
                   "an engine is running at '%.108s'%s; `sandbox-run serve --status` tells of it",
                   address->sun_path, process);
}

/* An untrusted program that may write there can listen there.  Its socket is reported, not removed,
 * because it may be that of an engine in a container. */
static int refuse_listener(int fd, const struct sockaddr_un *address, sbr_error *err)
{
    struct peer_home home;

    peer_look_home(&home);
    if (peer_is_neighbour(fd, &home, NULL))
        return is_running(address, peer_pid(fd), err);
    return err_set(err, SBR_E_DENIED, "engine",
                   "the process that listens at '%.108s' lives in a sandbox or a container; remove "
                   "the socket, "
                   "or name another in " ENGINE_SOCKET_ENV,
                   address->sun_path);
}

/* The lock is held until the socket is bound, because two engines that start at once would each
 * remove the other's socket. */
static int make_way(int dir_fd, const struct sockaddr_un *address, sbr_error *err)
{
    scoped_fd int fd = -1;
    struct stat st;

    if (flock(dir_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, SBR_E_BUSY, "engine", "another engine is starting at '%.108s'",
                       address->sun_path);
    if (lstat(address->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return err_set(
            err, SBR_E_DENIED, "engine",
            "'%.108s' is not a socket of yours; remove it, or name another in " ENGINE_SOCKET_ENV,
            address->sun_path);
    fd = new_socket();
    if (fd < 0)
        return err_set_errno(err, "engine", "cannot make a socket");
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
        return refuse_listener(fd, address, err);
    if (errno == EAGAIN)
        return is_running(address, 0, err);
    if (unlink(address->sun_path) < 0)
        return err_set_errno(err, "engine", "cannot remove '%.100s'", address->sun_path);
    return 0;
}

int engine_listen(int *ret_fd, sbr_error *err)
{
    struct sockaddr_un address;
    scoped_fd int dir_fd = -1, fd = -1;

    if (engine_address(&address, err) < 0 || open_directory(&address, &dir_fd, err) < 0 ||
        make_way(dir_fd, &address, err) < 0)
        return err->code;
    fd = new_socket();
    /* The file gets the mode of the socket, so that other users can never connect. */
    if (fd < 0 || fchmod(fd, 0600) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        return err_set_errno(err, "engine", "cannot listen at '%.100s'", address.sun_path);
    *ret_fd = take_fd(fd);
    return 0;
}

void engine_unlisten(void)
{
    struct sockaddr_un address;
    sbr_error ignored;

    if (engine_address(&address, &ignored) == 0)
        unlink(address.sun_path);
}
