#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "job/engine_socket.h"

#define ENDING_LOOKS 40
#define ENDING_LOOK_MS 50
#define SOCKET_NAME "http.sock"
#define BACKLOG 1024
#define UNREAD_MS (5 * 60 * 1000) /* a client that reads nothing for so long is gone    */
#define KEEP_IDLE_S 60            /* a connection without a byte is asked whether it is */
#define KEEP_EVERY_S 15           /* still there, so often until UNREAD_MS are over     */

int listener_default_path(char path[LISTENER_PATH_SIZE], sbr_error *err)
{
    char engine[ENGINE_PATH_SIZE], *slash;

    if (engine_socket_path(engine, sizeof(engine), err) < 0)
        return err->code;
    slash = strrchr(engine, '/');
    slash[1] = '\0';
    if (strlen(engine) + sizeof(SOCKET_NAME) > LISTENER_PATH_SIZE)
        return err_set(err, SBR_E_INVALID, "http",
                       "the path of the socket is too long; name another with --socket");
    snprintf(path, LISTENER_PATH_SIZE, "%.90s" SOCKET_NAME, engine);
    return 0;
}

/* A directory of ours alone: who may write to it may put another socket there. */
static int check_directory(const char *path, sbr_error *err)
{
    char dir[LISTENER_PATH_SIZE];
    struct stat st;

    snprintf(dir, sizeof(dir), "%s", path);
    *strrchr(dir, '/') = '\0';
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set_errno(err, "http", "cannot make '%.100s'", dir);
    if (stat(dir, &st) < 0)
        return err_set_errno(err, "http", "cannot look at '%.100s'", dir);
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, SBR_E_DENIED, "http",
                       "'%.100s' is not a directory that only you can write to; name a socket in "
                       "another one with --socket",
                       dir);
    return 0;
}

/* What a gateway that was killed has left inside sandboxes ends a moment after it, and until then
 * its socket takes connections. */
static bool is_served(const struct sockaddr_un *address)
{
    for (int i = 0; i < ENDING_LOOKS; i++) {
        scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
            return false;
        (void)poll(NULL, 0, ENDING_LOOK_MS);
    }
    return true;
}

static int make_way(const struct sockaddr_un *address, sbr_error *err)
{
    struct stat st;

    if (lstat(address->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return err_set(err, SBR_E_DENIED, "http",
                       "'%.100s' is not a socket of yours; remove it, or name another with "
                       "--socket",
                       address->sun_path);
    if (is_served(address))
        return err_set(err, SBR_E_BUSY, "http",
                       "a gateway listens at '%.100s'; end it, or name another socket with "
                       "--socket",
                       address->sun_path);
    if (unlink(address->sun_path) < 0)
        return err_set_errno(err, "http", "cannot remove '%.100s'", address->sun_path);
    return 0;
}

int listener_open_unix(const char *path, int *ret_fd, sbr_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = -1;

    if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path))
        return err_set(err, SBR_E_INVALID, "http",
                       "--socket '%.100s' must be an absolute path of less than 108 bytes", path);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (check_directory(path, err) < 0 || make_way(&address, err) < 0)
        return err->code;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || fchmod(fd, 0600) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        return err_set_errno(err, "http", "cannot listen at '%.100s'", path);
    *ret_fd = take_fd(fd);
    return 0;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
}

/* The length of the address; 0: the text is none. */
static socklen_t parse(const char *text, union address *ret)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    uint64_t port;

    if (!colon || text_parse_count(colon + 1, &port) != TEXT_OK || port > 65535)
        return 0;
    if (text[0] == '[' && colon > text + 1 && colon[-1] == ']') {
        snprintf(host, sizeof(host), "%.*s", (int)(colon - text - 2), text + 1);
        *ret = (union address){ .v6 = { .sin6_family = AF_INET6,
                                        .sin6_port = htons((uint16_t)port) } };
        return inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1 ? sizeof(ret->v6) : 0;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    *ret = (union address){ .v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) } };
    return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1 ? sizeof(ret->v4) : 0;
}

static int unread_ms(void)
{
#ifdef SBR_TEST_HOOKS
    const char *ms = getenv("SANDBOX_RUN_TEST_UNREAD");

    if (ms)
        return (int)strtoul(ms, NULL, 10);
#endif
    return UNREAD_MS;
}

/* Connections inherit this.  Without it, a client that reads nothing, or whose machine is gone,
 * would keep a connection and the reply that waits for it as long as the gateway lives. */
static int set_patience(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
        { IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY_S },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, unread_ms() },
    };

    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) < 0)
            return -1;
    return 0;
}

int listener_open_tcp(const char *text, bool anywhere, int *ret_fd, sbr_error *err)
{
    union address address;
    socklen_t len = parse(text, &address);
    scoped_fd int fd = -1;
    int on = 1;

    if (!len)
        return err_set(err, SBR_E_INVALID, "http",
                       "'%.60s' is no address to listen at; write it as 127.0.0.1:8710", text);
    if (!is_loopback(&address) && !anywhere)
        return err_set(err, SBR_E_DENIED, "http",
                       "'%.60s' is reachable from other machines: give --tls-cert and --tls-key, "
                       "or listen at 127.0.0.1 behind a proxy",
                       text);
    fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 || set_patience(fd) < 0 ||
        bind(fd, &address.any, len) < 0 || listen(fd, BACKLOG) < 0)
        return err_set_errno(err, "http", "cannot listen at %.60s", text);
    *ret_fd = take_fd(fd);
    return 0;
}

void listener_describe(int fd, char *buf, size_t size)
{
    union address address = { .v4 = { 0 } };
    socklen_t len = sizeof(address);
    char host[64] = "";

    if (getsockname(fd, &address.any, &len) < 0)
        return;
    if (address.any.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
        snprintf(buf, size, "[%s]:%u", host, ntohs(address.v6.sin6_port));
    } else {
        (void)inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
        snprintf(buf, size, "%s:%u", host, ntohs(address.v4.sin_port));
    }
}
