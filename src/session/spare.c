#include "session/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "job/engine_socket.h"
#include "plan/language.h"
#include "session/session_program.h"

#define WAIT_US (10 * 60 * 1000000ULL) /* for a client */
#define PATIENCE_S 2                   /* of a client, for the answer */

/* What a spare can have been made with.  Whatever else a request says, now or in a later version,
 * is either of no matter to a kernel that waits, or has no spare. */
bool spare_is_plain(const sbr_request *req)
{
    sbr_request rest = *req;

    if (req->policy)
        return false;
    rest.language = NULL;
    rest.env = (struct string_list){ 0 };
    memset(&rest.limits, 0, sizeof(rest.limits));
    memset(&rest.compile_limits, 0, sizeof(rest.compile_limits));
    memset(&rest.ceilings, 0, sizeof(rest.ceilings));
    memset(rest.caller, 0, sizeof(rest.caller));
    rest.share = 0;
    memset(&rest.refusal, 0, sizeof(rest.refusal));
    rest.require = 0;
    rest.require_given = rest.has_options = rest.kernel = rest.installs_nothing = false;
    rest.keep_seconds = rest.keep_bytes = 0; /* nothing without `keep_output` */
    rest.audit_bytes = 0;                    /* nothing without `audit` */
    for (size_t i = 0; i < sizeof(rest); i++)
        if (((const unsigned char *)&rest)[i])
            return false;
    return true;
}

/* Variables that say where tools and settings are. */
static bool is_ours(const char *pair)
{
    static const char *const names[] = { "SANDBOX_RUN_", "XDG_", "PATH=", "HOME=", "LANG=", "LC_" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strncmp(pair, names[i], strlen(names[i])))
            return true;
    return false;
}

static void add_place(struct sha256 *sum)
{
    static const char *const paths[] = { "/proc/self/exe", "/proc/self/ns/mnt", "/proc/self/ns/net",
                                         "/proc/self/ns/user", "/proc/self/ns/cgroup" };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct stat st;
        bool known = stat(paths[i], &st) == 0;

        sha256_add_u64(sum, known ? (uint64_t)st.st_ino : 0);
        sha256_add_u64(sum, known ? (uint64_t)st.st_dev : 0);
        sha256_add_u64(sum, known && i == 0 ? (uint64_t)st.st_mtim.tv_sec : 0);
    }
    sha256_add_u64(sum, geteuid());
    for (size_t i = 0; environ[i]; i++)
        if (is_ours(environ[i]))
            sha256_add_text(sum, environ[i]);
}

static void add_limits(struct sha256 *sum, const struct limits *limits)
{
    for (size_t i = 0; i < N_LIMITS; i++)
        sha256_add_u64(sum, limits->value[i]);
    sha256_add_u64(sum, limits->given);
}

void spare_name_key(const sbr_request *req, const struct language *language,
                    const struct session_bounds *bounds, char key[SHA256_HEX_SIZE])
{
    struct sha256 sum;

    key[0] = '\0';
    if (!spare_is_plain(req) || engine_is_unwanted())
        return;
    sha256_init(&sum);
    add_place(&sum);
    sha256_add_text(&sum, req->language);
    for (size_t i = 0; i < language->session.run.n; i++)
        sha256_add_text(&sum, language->session.run.at[i]);
    add_limits(&sum, &req->limits);
    add_limits(&sum, &req->compile_limits);
    add_limits(&sum, &req->ceilings);
    sha256_add_u64(&sum, req->env.n);
    for (size_t i = 0; i < req->env.n; i++)
        sha256_add_text(&sum, req->env.items[i]);
    sha256_add_u64(&sum, (uint64_t)req->require);
    sha256_add_u64(&sum, req->installs_nothing);
    sha256_add_u64(&sum, bounds->age_ms);
    sha256_finish_hex(&sum, key);
}

static void name_spare(const char *key, char id[SESSION_ID_SIZE])
{
    memcpy(id, key, SESSION_ID_SIZE - 1);
    id[SESSION_ID_SIZE - 1] = '\0';
}

/* The answer's description, with the time that the client has waited. */
static char *understand(const char *line, size_t len, uint64_t began_us)
{
    json_t *all = json_read(line, len, &json_read_answer, 0, "the answer", NULL),
           *made = json_object_get(all, "answer");
    char *text = NULL;

    if (made) {
        json_object_set_new(made, "startup_ms",
                            json_real((double)(clock_now_us() - began_us) / 1000));
        text = json_dumps(made, JSON_COMPACT | JSON_REAL_PRECISION(12));
    }
    json_decref(all);
    return text;
}

json_t *spare_adopt_words(const char *key, const sbr_request *req,
                          const struct session_bounds *bounds)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:b}", "op", "adopt", "key", key, "caller",
                     req->caller, "share", (int)req->share, "idle_ms", (json_int_t)bounds->idle_ms,
                     "freeze_ms", (json_int_t)bounds->freeze_ms, "held", bounds->held);
}

static char *adopt(sbr_session *s, const char *key, const sbr_request *req,
                   const struct session_bounds *bounds)
{
    uint64_t began_us = clock_now_us();
    json_t *request = spare_adopt_words(key, req, bounds);
    scoped_free char *line = NULL;
    sbr_error ignored; /* the session is made anew */
    size_t len;
    int r;

    r = session_client_send(s, request, &ignored);
    json_decref(request);
    if (r < 0 || session_client_read(s, &line, &len, &ignored) < 0)
        return NULL;
    return understand(line, len, began_us);
}

sbr_session *spare_connect(const char *key)
{
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    char id[SESSION_ID_SIZE];
    struct session_dir dir;
    sbr_session *s = NULL;
    sbr_error ignored; /* it has just been taken, or was killed */

    if (!key[0])
        return NULL;
    name_spare(key, id);
    if (session_dir_open_spare(id, &dir) < 0)
        return NULL;
    if (session_client_connect(&dir, &s, &ignored) == 0)
        (void)setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    session_dir_close(&dir);
    return s;
}

bool spare_take(const char *key, const sbr_request *req, const struct session_bounds *bounds,
                char **ret)
{
    sbr_session *s = spare_connect(key);
    char *made = s ? adopt(s, key, req, bounds) : NULL;

    session_client_free(s);
    if (made)
        *ret = made;
    return made != NULL;
}

int spare_begin(const struct session *s, struct session *made, int *ret_adopted, sbr_error *err)
{
    char id[SESSION_ID_SIZE];
    int fd, ends[2];

    if (!s->spare.key[0] || engine_connect(&fd) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "session", "no engine runs");
    name_spare(s->spare.key, id);
    if (session_dir_make_spare(id, &made->dir, err) < 0) {
        close(fd);
        return err->code;
    }
    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_set_errno(err, "session", "cannot make a pipe");
        session_dir_remove_spare(&made->dir);
        session_dir_close(&made->dir);
        close(fd);
        return err->code;
    }
    made->spare = s->spare;
    made->spare.waits = true;
    made->spare.engine = loop_watch_of(fd, NULL, NULL);
    made->spare.maker_fd = ends[1];
    *ret_adopted = ends[0];
    return 0;
}

bool spare_await_adoption(int fd)
{
    char word;

    return read(fd, &word, 1) == 1;
}

bool spare_ask_next(struct session *s)
{
    int fd = s->spare.maker_fd;
    bool asked;

    if (!fd)
        return false;
    asked = write(fd, "", 1) == 1;
    close(fd);
    s->spare.maker_fd = 0;
    return asked;
}

static void leave(struct session *s)
{
    supervisor_lose(s, "no client wanted it");
    s->over = true;
}

/* The engine never speaks to a spare: it has ended. */
static void engine_ended(void *context, uint32_t events)
{
    (void)events;
    leave(context);
}

static void waited_enough(void *context, uint32_t events)
{
    (void)events;
    leave(context);
}

static int offer(struct session *s, sbr_error *err)
{
    s->spare.tool = runner_tool_identity(s->job);
    s->spare.engine = loop_watch_of(s->spare.engine.fd, engine_ended, s);
    if (loop_add(&s->loop, &s->spare.engine, EPOLLIN) < 0)
        return err_set_errno(err, "session", "cannot watch the engine");
    loop_set_timer(&s->loop, TIMER_IDLE, clock_now_us() + WAIT_US, waited_enough, s);
    return connection_listen(s, err);
}

void spare_go_on(struct session *s)
{
    sbr_error ignored; /* nobody waits for it */

    if (s->state == SESSION_LOST)
        s->over = true;
    else if (s->state == SESSION_READY && s->listen_watch.fd < 0 && offer(s, &ignored) < 0)
        leave(s);
}

/* Its cells wait and run in the name of the client that takes it, whoever it was made after. */
static void take_over(struct session *s, const json_t *line)
{
    const char *caller = json_string_value(json_object_get(line, "caller"));

    snprintf(s->request.caller, sizeof(s->request.caller), "%s", caller ? caller : "");
    s->request.share = (uint8_t)json_integer_value(json_object_get(line, "share"));
    s->bounds.idle_ms = (uint64_t)json_integer_value(json_object_get(line, "idle_ms"));
    s->bounds.freeze_ms = (uint64_t)json_integer_value(json_object_get(line, "freeze_ms"));
    s->bounds.held = json_is_true(json_object_get(line, "held"));
}

json_t *spare_adopt(struct session *s, const json_t *line, sbr_error *err)
{
    const char *key = json_string_value(json_object_get(line, "key"));

    if (!s->spare.waits || s->state != SESSION_READY || !key || strcmp(key, s->spare.key) != 0 ||
        runner_tool_identity(s->job) != s->spare.tool) {
        err_set(err, SBR_E_UNSUPPORTED, "session", "this is no spare session of that kind");
        return NULL;
    }
    if (session_dir_adopt(&s->dir, err) < 0)
        return NULL;
    s->spare.waits = false;
    loop_close(&s->loop, &s->spare.engine);
    take_over(s, line);
    idle_begin_life(s);
    idle_begin(s);
    idle_await_hold(s, true);
    supervisor_note(s);
    return supervisor_describe_start(s, "parked");
}
