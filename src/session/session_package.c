/* A package more for a living session.  It is installed as a run with --dep would, in a sandbox of
 * its own and into the store; then its files are copied to /tmp of the session, because a confined
 * sandbox mounts nothing any more, and the kernel is told where they are.  The request gets the
 * package as well, so that a restart and a copy have it as a layer. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/walk.h"
#include "config/audit.h"
#include "plan/language.h"
#include "session/session_files.h"
#include "session/supervisor.h"

#define PLACE ".sandbox-run/packages" /* below /tmp */
#define DEPTH_MAX 32
#define PATH_MAX_BYTES 900

static void package_free(struct package *p)
{
    if (!p)
        return;
    sbr_job_free(p->job);
    sbr_request_free(p->request);
    free(p);
}

static int copy_entry(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct session *s = context;
    scoped_fd int fd = -1;
    char path[PATH_MAX_BYTES + sizeof(PLACE) + 1];

    if (!S_ISREG(entry->st.st_mode))
        return 0;
    fd = walk_open_file(entry);
    if (fd < 0)
        return err_set_errno(err, "session", "cannot read '%.200s' of the package", entry->path);
    snprintf(path, sizeof(path), PLACE "/%s", entry->path);
    return session_files_copy(s, path, fd, (uint64_t)entry->st.st_size, err);
}

static int copy_layer(struct session *s, const char *layer, sbr_error *err)
{
    const struct walk walk = { .visit = copy_entry,
                               .context = s,
                               .stage = "session",
                               .max_depth = DEPTH_MAX,
                               .max_path = PATH_MAX_BYTES };
    scoped_fd int fd = open(layer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_set_errno(err, "session", "cannot read the installed package");
    if (walk_tree(fd, &walk, err) < 0)
        return err->code;
    return 0;
}

/* Installed: the kernel reads its frames in order, so the next cell finds it. */
static int lay_in(struct package *p, sbr_error *err)
{
    struct session *s = p->session;
    const char *layer = runner_dependencies(p->job);

    if (!s->job || s->state == SESSION_LOST)
        return err_set(err, SBR_E_UNSUPPORTED, "session", "the session is lost: %.200s", s->reason);
    if (!layer)
        return err_set(err, SBR_E_BUG, "session", "the installed package has no place");
    kernel_freeze(s, false);
    if (copy_layer(s, layer, err) < 0)
        return err_set(err, SBR_E_UNSUPPORTED, "session",
                       "'%.100s' is installed but cannot be laid into the living session (%.200s); "
                       "`sandbox-run session restart %s` has it",
                       p->name, err->message, s->dir.id);
    kernel_send(&s->kernels[0], "path", 0, "-", "/tmp/" PLACE, sizeof("/tmp/" PLACE) - 1);
    return 0;
}

/* Why the installer failed; the same code as of a session that is made with the package. */
static int name_failure(const struct package *p, const sbr_result *result, sbr_error *err)
{
    const char *said = result->explanation;

    if (result->diagnosis && result->diagnosis->message)
        said = result->diagnosis->message;
    return err_set(err, SBR_E_INVALID, "session",
                   "'%.100s' cannot be installed: %.200s; `sandbox-run --lang %.40s --dep '%.100s' "
                   "--code ''` shows all that the installer says",
                   p->name, said[0] ? said : "the installer failed", p->session->request.language,
                   p->name);
}

static void installer_ready(void *context, uint32_t events)
{
    struct package *p = context;
    struct session *s = p->session;
    sbr_result *result = NULL;
    sbr_error err = { 0 };
    int r = sbr_job_dispatch(p->job, &result, &err);

    (void)events;
    if (r == 0)
        return;
    if (r > 0 && !result_success(result))
        r = name_failure(p, result, &err);
    if (r > 0 && lay_in(p, &err) == 0 && request_add_dep(&s->request, p->name, &err) == 0 &&
        p->client)
        connection_answer(s, p->client,
                          json_pack("{s:s, s:s}", "dep", p->name, "path", "/tmp/" PLACE));
    else if (p->client && err.code)
        connection_error(s, p->client, &err);
    sbr_result_free(result);
    loop_remove(&s->loop, &p->watch);
    s->package = NULL;
    package_free(p);
}

/* A program that does nothing, with the package: its layer is made and stays in the store. */
static int begin(struct package *p, const char *name, sbr_error *err)
{
    struct session *s = p->session;

    if (request_new(s->request.language, NULL, &p->request, err) < 0 ||
        request_add_dep(p->request, name, err) < 0 || request_set_code(p->request, "", 0, err) < 0)
        return err->code;
    audit_as(p->request, &s->request);
    if (sbr_job_start(s->rt, p->request, &p->job, err) < 0)
        return err->code;
    p->name = p->request->deps.items[0];
    runner_skip_version(p->job);
    p->watch = loop_watch_of(sbr_job_fd(p->job), installer_ready, p);
    if (loop_add(&s->loop, &p->watch, EPOLLIN) < 0)
        return err_set_errno(err, "session", "cannot watch the installer");
    return 0;
}

void session_grant_package(struct session *s, struct connection *c, const char *name)
{
    struct package *p = NULL;
    sbr_error err = { 0 };

    if (!s->language->install.run.n)
        err_set(&err, SBR_E_UNSUPPORTED, "session", "%s takes no packages", s->language->name);
    else if (!kernel_can(&s->kernels[0], "path"))
        err_set(
            &err, SBR_E_UNSUPPORTED, "session",
            "a living session of %s cannot be given a package; make one with `sandbox-run session "
            "create --lang %s --dep '%.100s'`",
            s->language->name, s->language->name, name);
    else if (s->package)
        err_set(&err, SBR_E_BUSY, "session", "a package is being installed; ask again");
    else if (!(p = calloc(1, sizeof(*p))))
        err_set_oom(&err, "session");
    if (p) {
        p->session = s;
        p->client = c;
        (void)!begin(p, name, &err);
    }
    if (!err.code) {
        s->package = p;
        return;
    }
    package_free(p);
    connection_error(s, c, &err);
}
