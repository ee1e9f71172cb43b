/* One container for one run: create, attach, start, and remove at the end.
 *
 * The engine's image is an empty one of ours; all files come as bind mounts, as in a bundle.  The
 * engine attaches to the guest's own words, which exist only when it fails; the program's streams
 * never pass through the engine.  The end of that stream is the end of the container.
 *
 * A container bears the name of its run's directory, which is locked while the run lives.  A run
 * may be killed before it can remove its container, and a cancelled one does not wait until the
 * engine has made it: a note stays, and the next run removes the container. */
#include "backend/backend.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend_guest.h"
#include "backend/backend_http.h"
#include "base/fd.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/guest_msg.h"

#define IMAGE "localhost/sandbox-run-empty" /* no registry has it */
#define TAG "latest"
#define EMPTY_TAR 10240 /* an archive of nothing: zeros */
#define PATH_SIZE 300
#define CALLED "sandbox-run-" /* how containers are called, before their id */
#define ULIMIT_MOST 32768
#define FRAME 8 /* of an attached stream: its number, three zeros, the length */

struct engine_kind {
    const char *name;
    const char *socket; /* the usual one */
    /* What lets init mount a procfs of its own; Podman has a word of its own for it. */
    const char *unmask;
    bool takes_profile; /* a seccomp profile as text, not as a file of the engine's */
};

struct container {
    const struct engine_kind *kind;
    char socket[PATH_SIZE];
    struct backend_guest guest;
    int words;  /* attached; -1: not yet */
    bool asked; /* the engine may have the container, or get it later */
    bool made;  /* it has said so */
};

static const struct engine_kind docker = { "docker", "/var/run/docker.sock", NULL, true };
static const struct engine_kind podman = { "podman", "/run/podman/podman.sock", "unmask=ALL",
                                           false };

#define UNIX "unix://"

int backend_engine_docker_socket(const char **ret, sbr_error *err)
{
    const char *host = getenv("DOCKER_HOST");

    *ret = docker.socket;
    if (!host || !*host)
        return 0;
    *ret = host + strlen(UNIX);
    if (strncmp(host, UNIX, strlen(UNIX)) == 0 && **ret == '/')
        return 0;
    return err_set(err, SBR_E_UNSUPPORTED, "backend",
                   "DOCKER_HOST is '%.100s', but a daemon of this machine is needed; set it to "
                   "unix:///PATH",
                   host);
}

/* 0 when the status is one of the two; the engine's own words otherwise. */
static int ask_for(const struct container *c, const struct backend_call *call, int good, int other,
                   struct backend_reply *reply, sbr_error *err)
{
    struct backend_call whole = *call;
    char said[250];

    whole.wait = c->guest.wait;
    if (backend_http_ask(c->socket, &whole, reply, err) < 0)
        return err->code;
    if (reply->status == good || reply->status == other)
        return 0;
    text_copy_visibly(said, sizeof(said), reply->body, strcspn(reply->body, "\r\n"));
    return err_set(err, SBR_E_SYSTEM, "backend", "%s could not make the container: %.250s",
                   c->kind->name, said[0] ? said : "it gave no reason");
}

static int ask(const struct container *c, const struct backend_call *call, int good, int other,
               sbr_error *err)
{
    scoped_free struct backend_reply *reply = malloc(sizeof(*reply));

    return reply ? ask_for(c, call, good, other, reply, err) : err_set_oom(err, "backend");
}

static int make_image(const struct container *c, sbr_error *err)
{
    static const char nothing[EMPTY_TAR];
    const struct backend_call load = {
        .method = "POST",
        .path = "/images/create?fromSrc=-&repo=" IMAGE "&tag=" TAG,
        .type = "application/x-tar",
        .body = nothing,
        .len = sizeof(nothing),
    };

    return ask(c, &load, 200, 201, err);
}

/* Whether the container was there; it removes itself, too, once it has ended. */
static enum backend_left_end remove_called(void *context, const char *id)
{
    const struct container *c = context;
    scoped_free struct backend_reply *reply = malloc(sizeof(*reply));
    char path[PATH_SIZE];
    const struct backend_call call = { .method = "DELETE", .path = path, .wait = c->guest.wait };
    sbr_error err;

    snprintf(path, sizeof(path), "/containers/" CALLED "%.32s?force=1", id);
    if (!reply || backend_http_ask(c->socket, &call, reply, &err) < 0)
        return LEFT_UNKNOWN;
    if (reply->status == 204 || reply->status == 200)
        return LEFT_REMOVED;
    /* 409: it is being removed. */
    return reply->status == 404 || reply->status == 409 ? LEFT_ABSENT : LEFT_UNKNOWN;
}

static void put_bind(struct jsonw *j, const char *source, const char *to, bool writable)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "Type", "bind");
    jsonw_text(j, "Source", source);
    jsonw_text(j, "Target", to);
    jsonw_bool(j, "ReadOnly", !writable);
    jsonw_close(j, '}');
}

static char *security_profile(void)
{
    struct jsonw j;
    scoped_free char *text = NULL;

    jsonw_init(&j, false);
    backend_bundle_put_seccomp(&j, NULL);
    text = jsonw_take(&j);
    return text ? text_format("seccomp=%s", text) : NULL;
}

/* The engine's own profiles refuse what init needs to make its sandbox. */
static void put_security(struct jsonw *j, const struct engine_kind *kind, const char *profile)
{
    jsonw_open(j, "SecurityOpt", '[');
    jsonw_text(j, NULL, "no-new-privileges");
    jsonw_text(j, NULL, "apparmor=unconfined");
    jsonw_text(j, NULL, kind->takes_profile ? profile : "seccomp=unconfined");
    if (kind->unmask)
        jsonw_text(j, NULL, kind->unmask);
    jsonw_close(j, ']');
}

/* An engine's own values may be more than it may set.  Init sets those of the program. */
static void put_ulimits(struct jsonw *j)
{
    static const struct {
        const char *name;
        int resource;
    } rows[] = { { "nofile", RLIMIT_NOFILE }, { "nproc", RLIMIT_NPROC } };
    struct rlimit now;

    jsonw_open(j, "Ulimits", '[');
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (getrlimit(rows[i].resource, &now) < 0)
            continue;
        if (now.rlim_max > ULIMIT_MOST)
            now.rlim_max = ULIMIT_MOST;
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "Name", rows[i].name);
        jsonw_number(j, "Soft", now.rlim_max);
        jsonw_number(j, "Hard", now.rlim_max);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}

static void put_host(struct jsonw *j, const struct container *c, const struct backend_mount *mounts,
                     size_t n, const char *share, const char *profile)
{
    static const char *const all[] = { "ALL" };

    jsonw_open(j, "HostConfig", '{');
    jsonw_bool(j, "ReadonlyRootfs", true);
    jsonw_bool(j, "AutoRemove", true);
    jsonw_text(j, "NetworkMode", "none");
    jsonw_names(j, "CapDrop", all, 1);
    jsonw_names(j, "MaskedPaths", NULL, 0);
    jsonw_names(j, "ReadonlyPaths", NULL, 0);
    put_security(j, c->kind, profile);
    put_ulimits(j);
    jsonw_open(j, "Mounts", '[');
    put_bind(j, share, GUEST_DIR, false);
    for (size_t i = 0; i < n; i++)
        put_bind(j, mounts[i].path, mounts[i].path, mounts[i].writable);
    jsonw_close(j, ']');
    jsonw_close(j, '}');
}

static char *describe(const struct container *c, const struct ids *ids,
                      const struct backend_mount *mounts, size_t n)
{
    static const char *const args[] = { GUEST_DIR "/" GUEST_IMAGE, GUEST_DIR "/" GUEST_SOCKET };
    scoped_free char *share = text_format("%s/" BACKEND_SHARE, c->guest.dir);
    scoped_free char *profile = security_profile();
    char user[32];
    struct jsonw j;

    if (!share || !profile)
        return NULL;
    snprintf(user, sizeof(user), "%u:%u", ids->host_uid, ids->host_gid);
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "Image", IMAGE ":" TAG);
    jsonw_text(&j, "Hostname", "sandbox");
    jsonw_text(&j, "User", user);
    jsonw_names(&j, "Entrypoint", args, 1);
    jsonw_names(&j, "Cmd", args + 1, 1);
    jsonw_bool(&j, "AttachStdout", true);
    jsonw_bool(&j, "AttachStderr", true);
    put_host(&j, c, mounts, n, share, profile);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

/* Every answer of the engine but 201 means that there is no container. */
static int ask_create(struct container *c, const struct backend_call *call,
                      struct backend_reply *reply, sbr_error *err)
{
    int r = ask_for(c, call, 201, 200, reply, err);

    c->made = r == 0;
    c->asked = c->made || (reply->asked && !reply->status); /* it may come without an answer */
    return r;
}

/* The engine is asked for the image only where it says that it has none. */
static int create_by(struct container *c, const struct backend_call *call, sbr_error *err)
{
    scoped_free struct backend_reply *reply = malloc(sizeof(*reply));

    if (!reply)
        return err_set_oom(err, "backend");
    if (ask_create(c, call, reply, err) == 0 || reply->status != 404)
        return c->made ? 0 : err->code;
    return make_image(c, err) < 0 ? err->code : ask_create(c, call, reply, err);
}

static int create(struct container *c, const struct plan *plan, const struct ids *ids,
                  sbr_error *err)
{
    scoped_free struct backend_mount *mounts = calloc(BACKEND_MAX_MOUNTS, sizeof(*mounts));
    scoped_free char *body = NULL;
    char path[PATH_SIZE];
    struct backend_call call = { .method = "POST", .path = path, .type = "application/json" };
    size_t n = 0;

    if (!mounts)
        return err_set_oom(err, "backend");
    if (backend_bundle_mounts(plan, mounts, &n, err) < 0)
        return err->code;
    backend_left_sweep(c->guest.parent.fd, c->socket, remove_called, c);
    body = describe(c, ids, mounts, n);
    if (!body)
        return err_set_oom(err, "backend");
    snprintf(path, sizeof(path), "/containers/create?name=" CALLED "%s", c->guest.id);
    call.body = body;
    call.len = strlen(body);
    if (backend_left_note(c->guest.parent.fd, c->guest.id, c->socket, err) < 0)
        return err->code;
    return create_by(c, &call, err);
}

static int attach(struct container *c, sbr_error *err)
{
    char path[PATH_SIZE];
    const struct backend_call call = { .method = "POST", .path = path, .wait = c->guest.wait };
    struct backend_reply *reply = malloc(sizeof(*reply));

    if (!reply)
        return err_set_oom(err, "backend");
    snprintf(path, sizeof(path), "/containers/" CALLED "%s/attach?stream=1&stdout=1&stderr=1",
             c->guest.id);
    c->words = backend_http_stream(c->socket, &call, reply, err);
    free(reply);
    return c->words < 0 ? err->code : 0;
}

static int start(const struct container *c, sbr_error *err)
{
    char path[PATH_SIZE];
    const struct backend_call call = { .method = "POST", .path = path };

    snprintf(path, sizeof(path), "/containers/" CALLED "%s/start", c->guest.id);
    return ask(c, &call, 204, 304, err);
}

/* Takes the frames off what both streams of the guest wrote. */
static int guest_error(const struct container *c, sbr_error *err)
{
    unsigned char head[FRAME];
    char words[200] = "", said[250];
    size_t n = 0;

    while (fd_read_full(c->words, head, FRAME) == FRAME) {
        size_t len = (size_t)head[4] << 24 | (size_t)head[5] << 16 | (size_t)head[6] << 8 | head[7];
        ssize_t got = len && n < sizeof(words) - 1
                          ? fd_read_full(c->words, words + n,
                                         len < sizeof(words) - 1 - n ? len : sizeof(words) - 1 - n)
                          : 0;

        if (got <= 0 || (size_t)got < len)
            break;
        n += (size_t)got;
    }
    text_copy_visibly(said, sizeof(said), words, strcspn(words, "\n"));
    return err_set(err, SBR_E_SYSTEM, "backend", "the container of %s ended at once: %.200s",
                   c->kind->name, said[0] ? said : "it gave no reason");
}

static int engine_open(struct sandbox *box, const struct plan *plan, const struct far_channels *far,
                       sbr_error *err)
{
    struct container *c = box->container;
    int r;

    if (backend_guest_open(&c->guest, err) < 0 || create(c, plan, &box->ids, err) < 0 ||
        attach(c, err) < 0 || start(c, err) < 0)
        return err->code;
    r = backend_guest_await(&c->guest, c->words, box, plan, far, err);
    if (r == 0)
        r = guest_error(c, err);
    return r < 0 ? r : 0;
}

static void engine_kill(const struct sandbox *box)
{
    const struct container *c = box->container;
    char path[PATH_SIZE];
    const struct backend_call call = { .method = "POST", .path = path };
    sbr_error err;

    snprintf(path, sizeof(path), "/containers/" CALLED "%s/kill", c->guest.id);
    if (ask(c, &call, 204, 409, &err) < 0)
        log_info("backend", "%s", err.message);
}

/* What was never made may still come, so only the answer to the first request ends the matter. */
static void remove_container(struct container *c)
{
    enum backend_left_end end = c->asked ? remove_called(c, c->guest.id) : LEFT_ABSENT;

    if (end == LEFT_REMOVED || (end == LEFT_ABSENT && (c->made || !c->asked)))
        backend_left_forget(c->guest.parent.fd, c->guest.id);
}

static void engine_close(struct sandbox *box)
{
    struct container *c = box->container;

    if (!c)
        return;
    remove_container(c);
    backend_guest_close(&c->guest);
    scope_close_fd(&c->words);
    free(c);
    box->container = NULL;
}

static const struct sandbox_host engine_host = { engine_open, engine_kill, engine_close };

static int engine_start(const struct engine_kind *kind, const char *path, struct sandbox *box,
                        const struct plan *plan, const struct sandbox_means *means, sbr_error *err)
{
    const char *usual = kind->socket;
    struct container *c;

    if (kind == &docker && !*path && backend_engine_docker_socket(&usual, err) < 0)
        return err->code;
    c = calloc(1, sizeof(*c));
    if (!c)
        return err_set_oom(err, "backend");
    *c = (struct container){ .kind = kind, .words = -1 };
    c->guest.dir_fd = c->guest.listener = c->guest.parent.fd = -1;
    c->guest.wait = means->wait;
    c->guest.maker = kind->name;
    snprintf(c->socket, sizeof(c->socket), "%s", *path ? path : usual);
    return sandbox_start_on(box, plan, means, &engine_host, c, err);
}

int backend_engine_docker(const char *path, struct sandbox *box, const struct plan *plan,
                          const struct sandbox_means *means, sbr_error *err)
{
    return engine_start(&docker, path, box, plan, means, err);
}

int backend_engine_podman(const char *path, struct sandbox *box, const struct plan *plan,
                          const struct sandbox_means *means, sbr_error *err)
{
    return engine_start(&podman, path, box, plan, means, err);
}
