#include "session/session_program.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json_read.h"
#include "sandbox/peer.h"

#define ANSWER_MAX ((size_t)512 << 20)
#define READ_SIZE ((size_t)64 * 1024)

/* The command line that made it. */
static void add_words(const struct session_dir *dir, json_t *meta)
{
    scoped_free char *text = session_dir_read(dir, SESSION_WORDS);
    json_t *words = json_read_own(text, 0);

    if (words)
        json_object_set_new(meta, "made_by", words);
}

json_t *session_client_remains(const struct session_dir *dir)
{
    scoped_free char *text = session_dir_read(dir, SESSION_META);
    json_t *meta = json_read_own(text, 0);
    char boot[SESSION_BOOT_SIZE];
    const char *then, *reason;

    if (!json_is_object(meta)) {
        json_decref(meta);
        meta = json_pack("{s:s, s:n}", "id", dir->id, "lang");
    }
    session_dir_boot_id(boot);
    then = json_string_value(json_object_get(meta, "boot_id"));
    reason = json_string_value(json_object_get(meta, "reason"));
    if (!reason)
        reason = then && strcmp(then, boot) != 0 ? "the machine was restarted"
                                                 : "its supervisor was killed";
    json_object_set_new(meta, "reason", json_string(reason));
    add_words(dir, meta);
    json_object_set_new(meta, "state", json_string("lost"));
    json_object_del(meta, "boot_id");
    json_object_del(meta, "pid");
    json_object_del(meta, GIVEN_TREES_KEY);
    return meta;
}

static int is_lost(const struct session_dir *dir, sbr_error *err)
{
    json_t *remains = session_client_remains(dir);
    const char *reason = json_string_value(json_object_get(remains, "reason"));

    err_set(err, SBR_E_NOT_FOUND, "session",
            "the session %s is lost: %.200s; `sandbox-run session close %s` removes what is left "
            "of it",
            dir->id, reason ? reason : "", dir->id);
    json_decref(remains);
    return err->code;
}

static int connect_to(const struct session_dir *dir, int *ret, sbr_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct peer_home home;

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SESSION_SOCKET,
             dir->fd);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return session_dir_is_alive(dir)
                   ? err_set_errno(err, "session", "cannot connect to the session")
                   : is_lost(dir, err);
    peer_look_home(&home);
    if (!peer_is_neighbour(fd, &home, NULL))
        return err_set(err, SBR_E_DENIED, "session",
                       "the process that listens for this session is not yours");
    *ret = take_fd(fd);
    return 0;
}

int session_client_connect(const struct session_dir *dir, sbr_session **ret, sbr_error *err)
{
    sbr_session *s;
    int fd = -1;

    if (connect_to(dir, &fd, err) < 0)
        return err->code;
    s = calloc(1, sizeof(*s));
    if (!s) {
        close(fd);
        return err_set_oom(err, "session");
    }
    memcpy(s->id, dir->id, sizeof(s->id));
    s->fd = fd;
    buf_init(&s->in, ANSWER_MAX);
    *ret = s;
    return 0;
}

int session_client_open(const char *id, sbr_session **ret, sbr_error *err)
{
    struct session_dir dir;
    int r;

    if (session_dir_open(id, &dir, err) < 0)
        return err->code;
    r = session_client_connect(&dir, ret, err);
    session_dir_close(&dir);
    return r;
}

void session_client_free(sbr_session *s)
{
    if (!s)
        return;
    close(s->fd);
    buf_done(&s->in);
    free(s);
}

static int is_gone(sbr_error *err)
{
    return err_set(err, SBR_E_NOT_FOUND, "session",
                   "the session's connection ended; `sandbox-run session list` says whether the "
                   "session did, and why");
}

/* A line is written by one thread at a time.  An interrupt must not wait for it, because a signal
 * handler may be on that very thread: then the writer sends the interrupt after its line. */
enum line_state { LINE_FREE, LINE_WRITTEN, LINE_INTERRUPT_WANTED };

static int send_all(const sbr_session *s, const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        ssize_t n = send(s->fd, text + at, len - at, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

static bool change_line(sbr_session *s, int from, int to)
{
    return atomic_compare_exchange_strong(&s->line, &from, to);
}

/* The line is out; so is every interrupt that came meanwhile. */
static int leave_line(sbr_session *s)
{
    const char *interrupt = atomic_load(&s->ends)
                                ? "{\"op\":\"interrupt\",\"quiet\":true,\"end\":true}\n"
                                : "{\"op\":\"interrupt\",\"quiet\":true}\n";
    int r = 0;

    while (!change_line(s, LINE_WRITTEN, LINE_FREE)) {
        atomic_store(&s->line, LINE_WRITTEN);
        r |= send_all(s, interrupt, strlen(interrupt));
    }
    return r;
}

int session_client_interrupt(sbr_session *s)
{
    for (;;) {
        if (change_line(s, LINE_FREE, LINE_INTERRUPT_WANTED))
            return leave_line(s) < 0 ? SBR_E_SYSTEM : 0;
        if (atomic_load(&s->line) == LINE_INTERRUPT_WANTED ||
            change_line(s, LINE_WRITTEN, LINE_INTERRUPT_WANTED))
            return 0;
    }
}

int session_client_end_cell(sbr_session *s)
{
    atomic_store(&s->ends, true);
    return session_client_interrupt(s);
}

int session_client_send(sbr_session *s, const json_t *request, sbr_error *err)
{
    scoped_free char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    size_t len;
    int r;

    if (!text)
        return err_set_oom(err, "session");
    len = strlen(text);
    text[len++] = '\n'; /* in place of its end */
    while (!change_line(s, LINE_FREE, LINE_WRITTEN))
        sched_yield(); /* another thread writes an interrupt */
    r = send_all(s, text, len);
    r |= leave_line(s);
    return r < 0 ? is_gone(err) : 0;
}

static int read_more(sbr_session *s, sbr_error *err)
{
    char *to = buf_extend(&s->in, READ_SIZE);
    ssize_t n;

    if (!to)
        return err_set(err, SBR_E_NO_MEMORY, "session", "the session's answer is too long");
    do
        n = read(s->fd, to, READ_SIZE);
    while (n < 0 && errno == EINTR);
    s->in.len -= READ_SIZE - (size_t)(n > 0 ? n : 0);
    return n <= 0 ? is_gone(err) : 0;
}

int session_client_read(sbr_session *s, char **ret, size_t *ret_len, sbr_error *err)
{
    size_t seen = 0, len;
    const char *newline;

    for (;;) {
        newline = s->in.len > seen ? memchr(s->in.data + seen, '\n', s->in.len - seen) : NULL;
        if (newline)
            break;
        seen = s->in.len;
        if (read_more(s, err) < 0)
            return err->code;
    }
    len = (size_t)(newline - s->in.data);
    *ret = malloc(len + 1);
    if (!*ret)
        return err_set_oom(err, "session");
    memcpy(*ret, s->in.data, len);
    (*ret)[len] = '\0';
    *ret_len = len;
    buf_drop(&s->in, len + 1);
    return 0;
}

int session_client_error(const json_t *error, sbr_error *err)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *stage = json_string_value(json_object_get(error, "stage"));
    const char *message = json_string_value(json_object_get(error, "message"));

    for (int i = SBR_E_INVALID; i >= SBR_E_BUG; i--)
        if (code && !strcmp(err_code_name(i), code))
            return err_set(err, i, stage ? stage : "session", "%.470s", message ? message : "");
    return err_set(err, SBR_E_BUG, "session", "the session sent an error without a code");
}
