/* One container for one run: create, attach, start, and remove at the end.
 *
 * The engine's image is an empty one of ours; all files come as bind mounts, as in a bundle.  The
 * engine attaches to the guest's own words, which exist only when it fails; the program's streams
 * never pass through the engine.  The end of that stream is the end of the container.
 *
 * A container bears the name of its run's directory, which is locked while the run lives.
 * So a later run can tell which containers no run will remove any more. */
#include "backend/backend_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend_bundle.h"
#include "backend/backend_guest.h"
#include "backend/backend_http.h"
#include "base/fd.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/text.h"
#include "wire/guest_msg.h"

#define IMAGE "localhost/sandbox-run-empty" /* no registry has it */
#define TAG "latest"
#define EMPTY_TAR 10240 /* an archive of nothing: zeros */
#define PATH_SIZE 300
#define CALLED "sandbox-run-" /* how containers are called, before their id */
#define LABEL "sandbox-run.place"
#define PLACE_SIZE 48
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
    int words; /* attached; -1: not yet */
    bool made;
};

static const struct engine_kind docker = { "docker", "/var/run/docker.sock", NULL, true };
static const struct engine_kind podman = { "podman", "/run/podman/podman.sock", "unmask=ALL",
                                           false };

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
    const struct backend_call look = { .method = "GET", .path = "/images/" IMAGE ":" TAG "/json" };
    const struct backend_call load = {
        .method = "POST",
        .path = "/images/create?fromSrc=-&repo=" IMAGE "&tag=" TAG,
        .type = "application/x-tar",
        .body = nothing,
        .len = sizeof(nothing),
    };
    sbr_error ignored;

    if (ask(c, &look, 200, 200, &ignored) == 0)
        return 0;
    return ask(c, &load, 200, 201, err);
}

static void remove_called(const struct container *c, const char *id)
{
    char path[PATH_SIZE];
    const struct backend_call call = { .method = "DELETE", .path = path };
    sbr_error err;

    snprintf(path, sizeof(path), "/containers/" CALLED "%.32s?force=1", id);
    if (ask(c, &call, 204, 200, &err) < 0)
        log_debug("backend", "%s", err.message); /* it removes itself, too */
}

/* The directory in which each run has one of its own, while it lives. */
static void place_of(const struct container *c, char place[PLACE_SIZE])
{
    struct stat st = { 0 };

    (void)fstat(c->guest.parent.fd, &st);
    snprintf(place, PLACE_SIZE, "%llx-%llx", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
}

/* Removes containers of runs that have no directory any more.  A run may have been killed before it
 * could remove its container, and a cancelled run does not wait until the engine has made it. */
static void sweep(const struct container *c)
{
    scoped_free struct backend_reply *reply = malloc(sizeof(*reply));
    char place[PLACE_SIZE], path[PATH_SIZE];
    const struct backend_call call = { .method = "GET", .path = path };
    sbr_error ignored;

    place_of(c, place);
    snprintf(path, sizeof(path),
             "/containers/json?all=1&filters=%%7B%%22label%%22:%%5B%%22" LABEL "=%s%%22%%5D%%7D",
             place);
    if (!reply || ask_for(c, &call, 200, 200, reply, &ignored) < 0)
        return;
    for (const char *at = reply->body; (at = strstr(at, "\"/" CALLED));) {
        char id[ENCODING_ID_SIZE];

        at += strlen("\"/" CALLED);
        snprintf(id, sizeof(id), "%s", at);
        if (encoding_is_hex(id, ENCODING_ID_SIZE - 1) &&
            faccessat(c->guest.parent.fd, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
            remove_called(c, id);
    }
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
    char user[32], place[PLACE_SIZE];
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
    jsonw_open(&j, "Labels", '{');
    place_of(c, place);
    jsonw_text(&j, LABEL, place);
    jsonw_close(&j, '}');
    jsonw_bool(&j, "AttachStdout", true);
    jsonw_bool(&j, "AttachStderr", true);
    put_host(&j, c, mounts, n, share, profile);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
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
    if (backend_bundle_mounts(plan, mounts, &n, err) < 0 || make_image(c, err) < 0)
        return err->code;
    sweep(c);
    body = describe(c, ids, mounts, n);
    if (!body)
        return err_set_oom(err, "backend");
    snprintf(path, sizeof(path), "/containers/create?name=" CALLED "%s", c->guest.id);
    call.body = body;
    call.len = strlen(body);
    c->made = true; /* also when the answer is not awaited */
    return ask(c, &call, 201, 200, err);
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

static void engine_close(struct sandbox *box)
{
    struct container *c = box->container;

    if (!c)
        return;
    if (c->made)
        remove_called(c, c->guest.id);
    backend_guest_close(&c->guest);
    scope_close_fd(&c->words);
    free(c);
    box->container = NULL;
}

static const struct sandbox_host engine_host = { engine_open, engine_kill, engine_close };

static int engine_start(const struct engine_kind *kind, const char *path, struct sandbox *box,
                        const struct plan *plan, const struct sandbox_means *means, sbr_error *err)
{
    struct container *c = calloc(1, sizeof(*c));

    if (!c)
        return err_set_oom(err, "backend");
    *c = (struct container){ .kind = kind, .words = -1 };
    c->guest.dir_fd = c->guest.listener = c->guest.parent.fd = -1;
    c->guest.wait = means->wait;
    c->guest.maker = kind->name;
    snprintf(c->socket, sizeof(c->socket), "%s", *path ? path : kind->socket);
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
