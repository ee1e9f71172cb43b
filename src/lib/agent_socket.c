#include "lib/agent_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "changes/state_dir.h"
#include "lib/runner.h"
#include "sandbox/peer.h"

#define STATE_AGENTS "agents" /* PID */
#define ORDER_MS 500          /* a client sends its order at once */
#define BACKLOG 4
#define FAILED '!' /* begins the reply that is an error */

/* A name in the directory, however long its path is. */
static struct sockaddr_un address_of(const struct state_dir *dir, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.20s", dir->fd, name);
    return address;
}

static void own_name(char name[24])
{
    snprintf(name, 24, "%ld", (long)getpid());
}

int agent_socket_listen(int *ret_fd, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct sockaddr_un address;
    scoped_fd int fd = -1;
    char name[24];
    int r;

    if (state_open(STATE_AGENTS, true, &dir, err) < 0)
        return err->code;
    own_name(name);
    address = address_of(&dir, name);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlinkat(dir.fd, name, 0);
    r = fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0;
    if (r)
        err_set_errno(err, "agent", "cannot listen in '%.200s'", dir.path);
    state_close(&dir);
    if (r)
        return err->code;
    *ret_fd = take_fd(fd);
    return 0;
}

void agent_socket_remove(void)
{
    struct state_dir dir = { .fd = -1 };
    sbr_error ignored;
    char name[24];

    own_name(name);
    if (state_open(STATE_AGENTS, false, &dir, &ignored) > 0)
        (void)unlinkat(dir.fd, name, 0);
    state_close(&dir);
}

static int save(sbr_job *job, char reply[AGENT_REPLY_SIZE], sbr_error *err)
{
    sbr_result *result = calloc(1, sizeof(*result));

    if (!result)
        return err_set_oom(err, "agent");
    if (runner_changes(job, true, NULL, result, err) == 0)
        snprintf(reply, AGENT_REPLY_SIZE, "%s", result->changes_id);
    result_free(result);
    return err->code;
}

static void allow_host(sbr_job *job, const char *text, char reply[AGENT_REPLY_SIZE], sbr_error *err)
{
    struct host_rule rule;

    if (host_rule_parse(text, &rule, err) == 0 && runner_allow(job, &rule, err) == 0)
        snprintf(reply, AGENT_REPLY_SIZE, "%s", rule.text);
}

static void obey(sbr_job *job, const char *order, char reply[AGENT_REPLY_SIZE])
{
    static const char applied[] = "applied ", allow[] = AGENT_ALLOW;
    sbr_error err = { 0 };

    reply[0] = '\0';
    if (!strcmp(order, "save"))
        (void)save(job, reply, &err);
    else if (!strncmp(order, applied, sizeof(applied) - 1))
        (void)!runner_applied(job, order + sizeof(applied) - 1, NULL, 0, &err);
    else if (!strncmp(order, allow, sizeof(allow) - 1))
        allow_host(job, order + sizeof(allow) - 1, reply, &err);
    else
        err_set(&err, SBR_E_INVALID, "agent", "there is no such order");
    if (err.code < 0)
        snprintf(reply, AGENT_REPLY_SIZE, "%c%.470s", FAILED, err.message);
}

/* Receives one packet as text; false: none came in time. */
static bool receive(int fd, int timeout_ms, char *text, size_t size)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t n = poll(&ready, 1, timeout_ms) == 1 ? recv(fd, text, size - 1, 0) : -1;

    text[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

void agent_socket_serve(int fd, sbr_job *job)
{
    int taken;

    while ((taken = fd_accept(fd, 0)) >= 0) {
        scoped_fd int client = taken;
        char order[AGENT_REPLY_SIZE], reply[AGENT_REPLY_SIZE];
        struct peer_home home;

        peer_look_home(&home);
        if (!peer_is_neighbour(client, &home, NULL) ||
            !receive(client, ORDER_MS, order, sizeof(order)))
            continue;
        obey(job, order, reply);
        (void)send(client, reply, strlen(reply) + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* Connects to the agent of that name; -1: nothing listens there. */
static int connect_to(const struct state_dir *dir, const char *name)
{
    struct sockaddr_un address = address_of(dir, name);
    scoped_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    return take_fd(fd);
}

/* The agents that listen; those that died are cleared away. */
static int find_only(const struct state_dir *dir, int *ret_fd, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    scoped_fd int found = -1;

    if (listing_read(dir->fd, &names) < 0)
        return err_set_errno(err, "agent", "cannot read '%.200s'", dir->path);
    for (size_t i = 0; i < names.n; i++) {
        scoped_fd int fd = connect_to(dir, names.names[i]);

        if (fd < 0 && errno == ECONNREFUSED)
            (void)unlinkat(dir->fd, names.names[i], 0);
        if (fd >= 0 && found >= 0)
            return err_set(err, SBR_E_INVALID, "agent",
                           "several agents run; name one by its process id, as in --of %.20s",
                           names.names[i]);
        if (fd >= 0)
            found = take_fd(fd);
    }
    if (found < 0)
        return err_set(err, SBR_E_NOT_FOUND, "agent", "no agent runs");
    *ret_fd = take_fd(found);
    return 0;
}

static int reach(const char *pid, int *ret_fd, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    int r = state_open(STATE_AGENTS, false, &dir, err);

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, SBR_E_NOT_FOUND, "agent", "no agent runs");
    if (!pid) {
        r = find_only(&dir, ret_fd, err);
    } else {
        *ret_fd = strchr(pid, '/') ? -1 : connect_to(&dir, pid);
        r = *ret_fd >= 0
                ? 0
                : err_set(err, SBR_E_NOT_FOUND, "agent", "no agent has the process id %.20s", pid);
    }
    state_close(&dir);
    return r;
}

int agent_socket_ask(const char *pid, const char *order, char reply[AGENT_REPLY_SIZE],
                     sbr_error *err)
{
    scoped_fd int fd = -1;

    if (reach(pid, &fd, err) < 0)
        return err->code;
    if (send(fd, order, strlen(order) + 1, MSG_NOSIGNAL) < 0 ||
        !receive(fd, -1, reply, AGENT_REPLY_SIZE))
        return err_set_errno(err, "agent", "the agent does not answer");
    if (reply[0] == FAILED)
        return err_set(err, SBR_E_BUSY, "agent", "%.470s", reply + 1);
    return 0;
}
