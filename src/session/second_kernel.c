/* Kernels of other languages in the sandbox of a session: one file system, separate kernels.  What
 * they may do is what the first one may, because init starts them under the same confinement.  The
 * end of one is not the end of the session. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "plan/language.h"
#include "session/session_files.h"
#include "session/supervisor.h"

#define DRIVERS "/tmp/.sandbox-run" /* the root itself is read-only by now */

int second_kernel_language(const struct session *s, const char *name, const struct language **ret,
                           sbr_error *err)
{
    const struct language *language;

    *ret = NULL;
    if (!name)
        return 0;
    if (language_resolve(name, &language, err) < 0)
        return err->code;
    if (!language->session.run.n)
        return err_set(err, SBR_E_UNSUPPORTED, "session",
                       "%s has no sessions; docs/sessions.md says which languages have",
                       language->name);
    *ret = language == s->language ? NULL : language;
    return 0;
}

struct kernel *second_kernel_find(struct session *s, const struct language *language)
{
    if (!language)
        return &s->kernels[0];
    for (size_t i = 1; i < KERNELS_MAX; i++)
        if (s->kernels[i].watch.fd >= 0 && s->kernels[i].language == language)
            return &s->kernels[i];
    return NULL;
}

json_t *second_kernel_describe(const struct kernel *k)
{
    return json_pack("{s:s, s:s, s:O}", "lang", k->language->name, "state", "ready", "kernel",
                     k->hello);
}

json_t *second_kernel_names(const struct session *s)
{
    json_t *names = json_array();

    for (size_t i = 1; i < KERNELS_MAX; i++)
        if (s->kernels[i].watch.fd >= 0)
            json_array_append_new(names, json_string(s->kernels[i].language->name));
    return names;
}

static struct kernel *free_place(struct session *s, sbr_error *err)
{
    for (size_t i = 1; i < KERNELS_MAX; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is a session */
        if (s->kernels[i].watch.fd < 0)
            return &s->kernels[i];
    err_set(err, SBR_E_BUSY, "session",
            "the session has kernels of %d other languages already; a cell that ends one, as by "
            "exit, makes room",
            RUNNER_KERNELS);
    return NULL;
}

/* The small files that the plan has for the kernel. */
static int place_drivers(struct session *s, const struct plan *plan, const char *dir,
                         sbr_error *err)
{
    static const char prefix[] = "driver/";

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];
        char path[512];

        if (op->kind != OP_FILE || strncmp(op->to, prefix, sizeof(prefix) - 1) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir + sizeof("/tmp/") - 1,
                 op->to + sizeof(prefix) - 1);
        if (session_files_place(s, path, op->data, op->len, err) < 0)
            return err->code;
    }
    return 0;
}

static int start(struct kernel *k, const struct language *language, sbr_error *err)
{
    struct session *s = k->session;
    sbr_request request = s->request;
    struct plan *plan = NULL;
    char dir[128];
    int r, fd = -1;

    snprintf(dir, sizeof(dir), DRIVERS "/%s", language->name);
    request.language = (char *)language->name;
    request.deps = (struct string_list){ 0 }; /* of the session's own language */
    request.n_files = 0;
    request.kernel_drivers = dir;
    r = runner_plan_kernel(s->rt, s->job, &request, &plan, err);
    if (r == 0)
        r = place_drivers(s, plan, dir, err);
    if (r == 0)
        r = runner_add_kernel(s->job, plan, k->index, &fd, err);
    plan_free(plan);
    if (r < 0)
        return r;
    k->language = language;
    kernel_channel_open(k, fd);
    return 0;
}

int second_kernel_get(struct session *s, const struct language *language, struct kernel **ret,
                      sbr_error *err)
{
    struct kernel *k = second_kernel_find(s, language);

    if (!k) {
        k = free_place(s, err);
        if (!k || start(k, language, err) < 0)
            return err->code;
    }
    *ret = k;
    return 0;
}

void second_kernel_end(struct kernel *k, const char *reason, sbr_error *ret)
{
    struct session *s = k->session;
    struct connection *asking = s->asks && s->answers == k ? question_end(s) : NULL;
    struct connection *starter = take_ptr(k->starter);

    if (k->watch.fd < 0)
        return;
    err_set(ret, SBR_E_UNSUPPORTED, "session", "%s: %.400s", k->language->name, reason);
    runner_signal_kernel(s->job, k->index, SIGKILL);
    kernel_channel_close(k);
    json_decref(take_ptr(k->hello));
    if (asking)
        connection_error(s, asking, ret);
    if (starter && starter != asking)
        connection_error(s, starter, ret);
    connection_resume_lines(s);
}
