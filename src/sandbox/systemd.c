/* The conversation:
 *
 *   we                                               manager, or message bus
 *   "\0AUTH EXTERNAL uid"  ----------------------->
 *                          <-----------------------  "OK guid"
 *   "BEGIN", on a bus also Hello, AddMatch, Subscribe
 *   StartTransientUnit     ----------------------->
 *                          <-----------------------  reply with the job, or error
 *                          <-----------------------  signal JobRemoved with its result
 *
 * /proc decides whether we are in the scope, not the peer.  Messages only wake us and report
 * failures.  One deadline covers everything. */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/dbus.h"

#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"
#define BUS "org.freedesktop.DBus"
#define LOOK_US 1000 /* between two looks at /proc without a message */

struct link {
    int fd;
    uint64_t deadline_us;
    uint32_t serial; /* of the last call */
    struct buf in;   /* the last message read */
};

bool systemd_manages(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

static bool is_socket_of(const char *path, uid_t uid)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == uid;
}

/* Adds dir/name if it exists and belongs to us. */
static unsigned int add_socket(struct systemd_socket *sockets, unsigned int n, const char *dir,
                               const char *name)
{
    struct systemd_socket *s = &sockets[n];
    int len = snprintf(s->path, sizeof(s->path), "%s/%s", dir, name);

    s->is_bus = strcmp(name, "systemd/private") != 0;
    return len > 0 && (size_t)len < sizeof(s->path) && is_socket_of(s->path, geteuid()) ? n + 1 : n;
}

unsigned int systemd_sockets(struct systemd_socket sockets[SYSTEMD_MAX_SOCKETS])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    unsigned int n = 0;
    char usual[64];

    if (geteuid() == 0) {
        n = add_socket(sockets, n, "/run", "systemd/private");
        return add_socket(sockets, n, "/run", "dbus/system_bus_socket");
    }
    snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned int)geteuid());
    if (runtime && runtime[0] == '/') {
        n = add_socket(sockets, n, runtime, "systemd/private");
        n = add_socket(sockets, n, runtime, "bus");
    }
    if (runtime && !strcmp(runtime, usual))
        return n;
    n = add_socket(sockets, n, usual, "systemd/private");
    return add_socket(sockets, n, usual, "bus");
}

static int too_late(sbr_error *err)
{
    return err_set(err, SBR_E_BUSY, "systemd", "systemd did not answer in time");
}

static int not_understood(sbr_error *err)
{
    return err_set(err, SBR_E_SYSTEM, "systemd", "systemd's answer is not understood");
}

/* 1: there is something to read; 0: not within the time, which may end before the deadline. */
static int await_bytes(const struct link *link, uint64_t at_most_us)
{
    struct pollfd fd = { .fd = link->fd, .events = POLLIN };
    uint64_t now = clock_now_us(), left = link->deadline_us > now ? link->deadline_us - now : 0;
    uint64_t wait = left < at_most_us ? left : at_most_us;
    struct timespec time = { .tv_sec = (time_t)(wait / 1000000),
                             .tv_nsec = (long)(wait % 1000000) * 1000 };

    return ppoll(&fd, 1, &time, NULL) > 0;
}

static int send_all(const struct link *link, const char *data, size_t len, sbr_error *err)
{
    while (len > 0) {
        ssize_t n = send(link->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, "systemd", "cannot write to systemd");
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int receive_some(const struct link *link, char *data, size_t len, size_t *ret,
                        sbr_error *err)
{
    ssize_t n;

    if (!await_bytes(link, UINT64_MAX))
        return too_late(err);
    n = recv(link->fd, data, len, MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return err_set_errno(err, "systemd", "cannot read from systemd");
    if (n == 0)
        return err_set(err, SBR_E_SYSTEM, "systemd", "systemd closed the connection");
    *ret = n > 0 ? (size_t)n : 0;
    return 0;
}

static int receive_all(const struct link *link, char *data, size_t len, sbr_error *err)
{
    for (size_t done = 0, n = 0; done < len; done += n)
        if (receive_some(link, data + done, len - done, &n, err) < 0)
            return err->code;
    return 0;
}

/* The peer must run as our user, and in a pid namespace where our pids are valid: from inside a
 * container it would move a process of another owner. */
static int check_peer(const struct link *link, sbr_error *err)
{
    struct ucred peer = { 0 };
    socklen_t len = sizeof(peer);

    if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return err_set_errno(err, "systemd", "cannot tell who answers for systemd");
    if (peer.uid != geteuid() || peer.pid <= 0)
        return err_set(err, SBR_E_DENIED, "systemd",
                       "what answers for systemd is another user's, or outside this container");
    return 0;
}

static int connect_to(struct link *link, const char *path, sbr_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval wait = { .tv_sec = 1 };

    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, SBR_E_INVALID, "systemd", "the path of systemd's socket is too long");
    memcpy(address.sun_path, path, strlen(path) + 1);
    link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd < 0)
        return err_set_errno(err, "systemd", "cannot make a socket");
    (void)setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    if (connect(link->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return err_set_errno(err, "systemd", "cannot connect to '%s'", path);
    return check_peer(link, err);
}

/* Sends the uid as decimal digits in hexadecimal.  The kernel vouches for it. */
static int authenticate(const struct link *link, sbr_error *err)
{
    char uid[16], hex[2 * sizeof(uid) + 1], line[256];
    size_t len = (size_t)snprintf(uid, sizeof(uid), "%u", (unsigned int)geteuid()), n = 0;

    for (size_t i = 0; i < len; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned int)uid[i]);
    line[0] = '\0'; /* the protocol begins with a NUL */
    len = 1 + (size_t)snprintf(line + 1, sizeof(line) - 1, "AUTH EXTERNAL %s\r\n", hex);
    if (send_all(link, line, len, err) < 0)
        return err->code;
    len = 0;
    do {
        if (receive_some(link, line + len, sizeof(line) - 1 - len, &n, err) < 0)
            return err->code;
        len += n;
        line[len] = '\0';
    } while (len < sizeof(line) - 1 && !strchr(line, '\n'));
    if (strncmp(line, "OK ", 3) != 0 || len < 5 || strcmp(line + len - 2, "\r\n") != 0)
        return err_set(err, SBR_E_DENIED, "systemd", "systemd does not know who we are");
    return send_all(link, "BEGIN\r\n", 7, err);
}

static int send_call(struct link *link, struct dbus_message *call, sbr_error *err)
{
    struct buf bytes;
    int r;

    buf_init(&bytes, DBUS_MAX_MESSAGE);
    call->type = DBUS_CALL;
    call->serial = ++link->serial;
    dbus_encode(&bytes, call);
    r = bytes.failed ? err_set_oom(err, "systemd") : send_all(link, bytes.data, bytes.len, err);
    buf_done(&bytes);
    return r;
}

/* On a bus we need a name, and signals come only on request. */
static int enter_bus(struct link *link, sbr_error *err)
{
    static const char rule[] = "type='signal',interface='" MANAGER_INTERFACE "',"
                               "member='JobRemoved',path='" MANAGER_PATH "'";
    struct dbus_message hello = {
        .path = "/org/freedesktop/DBus", .interface = BUS, .member = "Hello", .destination = BUS
    };
    struct dbus_message match = hello;
    struct dbus_message subscribe = { .no_reply = true,
                                      .path = MANAGER_PATH,
                                      .interface = MANAGER_INTERFACE,
                                      .member = "Subscribe",
                                      .destination = MANAGER };
    struct buf body;
    int r;

    buf_init(&body, sizeof(rule) + 16);
    dbus_put_string(&body, rule);
    match.no_reply = true;
    match.member = "AddMatch";
    match.signature = "s";
    match.body = body.data;
    match.body_len = body.len;
    r = body.failed ? err_set_oom(err, "systemd") : send_call(link, &hello, err);
    if (r == 0)
        r = send_call(link, &match, err);
    if (r == 0)
        r = send_call(link, &subscribe, err);
    buf_done(&body);
    return r;
}

static void put_property(struct buf *b, const char *name, const char *type)
{
    dbus_align(b, 8);
    dbus_put_string(b, name);
    dbus_put_signature(b, type);
}

/* The signature is "ssa(sv)a(sa(sv))": name, what to do with a conflicting job, properties, further
 * units.  A user's scope goes to app.slice; the system's scopes are in system.slice. */
static void put_scope(struct buf *b, const char *unit)
{
    struct dbus_array properties, pids, units;

    dbus_put_string(b, unit);
    dbus_put_string(b, "fail");
    properties = dbus_open_array(b, 8);
    put_property(b, "Description", "s");
    dbus_put_string(b, "sandbox-run and the programs that it runs");
    put_property(b, "PIDs", "au");
    pids = dbus_open_array(b, 4);
    dbus_put_u32(b, (uint32_t)getpid());
    dbus_close_array(b, pids);
    put_property(b, "Delegate", "b");
    dbus_put_u32(b, 1);
    put_property(b, "CollectMode", "s"); /* a failed scope must not stay in the list of units */
    dbus_put_string(b, "inactive-or-failed");
    if (geteuid() != 0) {
        put_property(b, "Slice", "s");
        dbus_put_string(b, "app.slice");
    }
    dbus_close_array(b, properties);
    units = dbus_open_array(b, 8);
    dbus_close_array(b, units);
}

static int ask_for_scope(struct link *link, const char *unit, sbr_error *err)
{
    struct dbus_message call = { .path = MANAGER_PATH,
                                 .interface = MANAGER_INTERFACE,
                                 .member = "StartTransientUnit",
                                 .destination = MANAGER,
                                 .signature = "ssa(sv)a(sa(sv))" };
    struct buf body;
    int r;

    buf_init(&body, 4096);
    put_scope(&body, unit);
    call.body = body.data;
    call.body_len = body.len;
    r = body.failed ? err_set_oom(err, "systemd") : send_call(link, &call, err);
    buf_done(&body);
    return r;
}

static int read_message(struct link *link, struct dbus_message *ret, sbr_error *err)
{
    char head[DBUS_HEAD], *rest;
    size_t len;

    if (receive_all(link, head, sizeof(head), err) < 0)
        return err->code;
    len = dbus_length(head);
    if (len < sizeof(head))
        return not_understood(err);
    buf_done(&link->in);
    buf_init(&link->in, DBUS_MAX_MESSAGE);
    (void)buf_add(&link->in, head, sizeof(head));
    rest = buf_extend(&link->in, len - sizeof(head));
    if (!rest)
        return err_set_oom(err, "systemd");
    if (receive_all(link, rest, len - sizeof(head), err) < 0)
        return err->code;
    return dbus_decode(link->in.data, len, ret) < 0 ? not_understood(err) : 0;
}

/* Reports the error's own text, without control characters for a terminal. */
static int refused(const struct dbus_message *m, sbr_error *err)
{
    struct buf_reader body = { .data = m->body, .len = m->body_len };
    const char *text = m->signature && m->signature[0] == 's' ? dbus_get_string(&body) : NULL;

    err_set(err, SBR_E_DENIED, "systemd", "systemd refuses: %.80s: %.100s", m->error,
            text ? text : "");
    for (char *c = err->message; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127)
            *c = '?';
    return err->code;
}

/* 1 when the job for our scope is done, 0 when the message is about something else. */
static int judge_message(const struct dbus_message *m, const char *unit, sbr_error *err)
{
    struct buf_reader body = { .data = m->body, .len = m->body_len };
    const char *name, *result;

    if (m->type == DBUS_ERROR)
        return refused(m, err);
    if (m->type != DBUS_SIGNAL || strcmp(m->member, "JobRemoved") != 0 || !m->signature ||
        strcmp(m->signature, "uoss") != 0)
        return 0;
    (void)dbus_get_u32(&body);
    (void)dbus_get_string(&body); /* the job */
    name = dbus_get_string(&body);
    result = dbus_get_string(&body);
    if (!name || !result)
        return not_understood(err);
    if (strcmp(name, unit) != 0)
        return 0;
    if (!strcmp(result, "done"))
        return 1;
    return err_set(err, SBR_E_DENIED, "systemd",
                   "systemd could not make our scope; its journal "
                   "says why");
}

static int await_scope(struct link *link, const struct systemd_scope *scope, sbr_error *err)
{
    struct dbus_message message;
    int r = 0;

    while (!scope->arrived(scope->unit)) {
        if (r > 0)
            return err_set(err, SBR_E_SYSTEM, "systemd", "systemd made our scope without us");
        if (clock_now_us() >= link->deadline_us)
            return too_late(err);
        if (!await_bytes(link, LOOK_US))
            continue;
        r = read_message(link, &message, err);
        if (r == 0)
            r = judge_message(&message, scope->unit, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int open_link(struct link *link, const struct systemd_socket *to, sbr_error *err)
{
    int r = connect_to(link, to->path, err);

    if (r == 0)
        r = authenticate(link, err);
    if (r == 0 && to->is_bus)
        r = enter_bus(link, err);
    return r;
}

static void close_link(struct link *link)
{
    scope_close_fd(&link->fd);
    buf_done(&link->in);
}

int systemd_start_scope(const struct systemd_socket *to, const struct systemd_scope *scope,
                        sbr_error *err)
{
    struct link link = { .fd = -1, .deadline_us = clock_now_us() + scope->timeout_us };
    int r = open_link(&link, to, err);

    if (r == 0)
        r = ask_for_scope(&link, scope->unit, err);
    if (r == 0)
        r = await_scope(&link, scope, err);
    close_link(&link);
    return r;
}

/* The object path of a unit: every byte but letters and digits becomes hexadecimal. */
static void put_unit_path(struct buf *path, const char *unit)
{
    (void)buf_add_text(path, MANAGER_PATH "/unit/");
    for (const char *c = unit; *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
            (*c >= '0' && *c <= '9' && c > unit))
            (void)buf_add(path, c, 1);
        else
            (void)buf_printf(path, "_%02x", (unsigned int)(unsigned char)*c);
}

static int ask_for_delegate(struct link *link, const char *unit, sbr_error *err)
{
    const char *dot = strrchr(unit, '.');
    struct dbus_message call = { .interface = "org.freedesktop.DBus.Properties",
                                 .member = "Get",
                                 .destination = MANAGER,
                                 .signature = "ss" };
    struct buf path, body;
    int r;

    buf_init(&path, 2048);
    buf_init(&body, 256);
    put_unit_path(&path, unit);
    dbus_put_string(&body, dot && !strcmp(dot, ".scope") ? MANAGER ".Scope" : MANAGER ".Service");
    dbus_put_string(&body, "Delegate");
    call.path = path.data;
    call.body = body.data;
    call.body_len = body.len;
    r = path.failed || body.failed ? err_set_oom(err, "systemd") : send_call(link, &call, err);
    buf_done(&path);
    buf_done(&body);
    return r;
}

/* Reads the reply to the last call: a variant that holds a boolean. */
static int read_delegate(struct link *link, sbr_error *err)
{
    static const char boolean[] = { 1, 'b', '\0', '\0' };
    struct dbus_message m = { 0 };

    do {
        if (read_message(link, &m, err) < 0)
            return err->code;
        if (m.type == DBUS_ERROR)
            return refused(&m, err);
    } while (m.type != DBUS_REPLY || m.reply_to != link->serial);
    if (!m.signature || strcmp(m.signature, "v") != 0 || m.body_len != 8 ||
        memcmp(m.body, boolean, sizeof(boolean)) != 0)
        return not_understood(err);
    return m.body[4] == 1;
}

bool systemd_is_delegated(const struct systemd_socket *to, const char *unit, uint64_t timeout_us)
{
    struct link link = { .fd = -1, .deadline_us = clock_now_us() + timeout_us };
    sbr_error err;
    int r = open_link(&link, to, &err);

    if (r == 0)
        r = ask_for_delegate(&link, unit, &err);
    if (r == 0)
        r = read_delegate(&link, &err);
    if (r < 0)
        log_debug("systemd", "%s: %s", unit, err.message);
    close_link(&link);
    return r > 0;
}
