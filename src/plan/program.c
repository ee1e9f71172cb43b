/* The program's files, its command line and its environment. */
#include <string.h>

#include "plan/root.h"

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);

    return !strncmp(path, top, len) && (path[len] == '\0' || path[len] == '/');
}

const char *plan_inside(struct plan *plan, const char *path)
{
    if (!plan->place || !(is_below(path, INSIDE_WORK) || is_below(path, "/tmp")))
        return path;
    return plan_printf(plan, "%s%s", plan->place, path);
}

static size_t list_len(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

/* Sets NAME=VALUE, replacing an earlier entry of the same name. */
static void env_set(const char **env, size_t *n, const char *pair)
{
    size_t name_len = strcspn(pair, "=") + 1;

    for (size_t i = 0; i < *n; i++) {
        if (!strncmp(env[i], pair, name_len)) {
            env[i] = pair;
            return;
        }
    }
    env[(*n)++] = pair;
}

static int plan_env(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *const *language_env = in->language ? in->language->env : NULL;
    const struct string_list *given = &in->request->env;
    const char *const base_env[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        plan_printf(plan, "HOME=%s" INSIDE_WORK, plan->place ? plan->place : ""),
        "LANG=C.UTF-8",
        "USER=sandbox",
        /* Only where it is not the one that everybody expects. */
        plan_printf(plan, "TMPDIR=%s/tmp", plan->place ? plan->place : ""),
    };
    size_t n_base = ARRAY_LEN(base_env) - (plan->place ? 0 : 1), n = 0;

    plan->env =
        plan_alloc(plan, (n_base + list_len(language_env) + given->n + 1) * sizeof(*plan->env));
    if (!plan->env || !base_env[1] || !base_env[4])
        return err_set_oom(err, "plan");
    for (size_t i = 0; i < n_base; i++)
        env_set(plan->env, &n, base_env[i]);
    for (size_t i = 0; language_env && language_env[i]; i++)
        env_set(plan->env, &n, language_env[i]);
    for (size_t i = 0; i < given->n; i++)
        env_set(plan->env, &n, given->items[i]);
    return 0;
}

static int add_file(struct plan *plan, const struct request_file *file, const char *path,
                    sbr_error *err)
{
    struct plan_op op = { .kind = OP_PROGRAM,
                          .to = plan_printf(plan, "work/%s", path),
                          .mode = file->executable ? 0755 : 0644,
                          .data = file->data,
                          .len = file->len };

    return op.to ? plan_add_op(plan, op, err) : err_set_oom(err, "plan");
}

/* Where the program is, inside: its own file's name, or the language's name for one. */
static int plan_files(struct plan *plan, const struct plan_input *in, const char **ret_source,
                      sbr_error *err)
{
    const sbr_request *req = in->request;
    const char *source = NULL;

    if (req->code && !in->language)
        return err_set(err, SBR_E_INVALID, "plan",
                       "the request has code but no language; name one with --lang");
    if (req->code) {
        struct request_file program = { .data = req->code, .len = req->code_len };

        source = in->language->source;
        if (add_file(plan, &program, source, err) < 0)
            return err->code;
    } else if (req->n_files) {
        source = req->files[0].path;
    }
    for (size_t i = 0; i < req->n_files; i++) {
        const char *path = req->files[i].path;
        size_t len = strlen(source);

        if (req->code && !strncmp(path, source, len) && (path[len] == '\0' || path[len] == '/'))
            return err_set(err, SBR_E_INVALID, "plan",
                           "the file '%s' has the name that the code itself takes", path);
        if (add_file(plan, &req->files[i], req->files[i].path, err) < 0)
            return err->code;
    }
    *ret_source = source;
    return 0;
}

/* ${binary} and ${source} are whole words of a language's command line. */
static const char *expand(const struct plan_input *in, const char *word, const char *source)
{
    if (!strcmp(word, "${binary}"))
        return in->binary;
    return !strcmp(word, "${source}") ? source : word;
}

static int plan_argv(struct plan *plan, const struct plan_input *in, const char *source,
                     sbr_error *err)
{
    const char *const *words = in->language ? in->language->run : NULL;
    const struct string_list *args = &in->request->args;
    size_t n = 0;

    plan->argv = plan_alloc(plan, (list_len(words) + args->n + 1) * sizeof(*plan->argv));
    if (!plan->argv)
        return err_set_oom(err, "plan");
    for (size_t i = 0; words && words[i]; i++)
        plan->argv[n++] = expand(in, words[i], source);
    for (size_t i = 0; i < args->n; i++)
        plan->argv[n++] = args->items[i];
    if (n == 0 || !plan->argv[0][0])
        return err_set(err, SBR_E_INVALID, "plan", "there is no command to run");
    return 0;
}

int plan_program(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *source = NULL, *path = NULL;

    if (plan_files(plan, in, &source, err) < 0)
        return err->code;
    if (in->language && !source)
        return err_set(err, SBR_E_INVALID, "plan",
                       "there is no program; give a file, --code TEXT or the program on stdin");
    plan->workdir = plan_inside(plan, in->request->workdir ? in->request->workdir : INSIDE_WORK);
    if (source)
        path = plan_printf(plan, "%s" INSIDE_WORK "/%s", plan->place ? plan->place : "", source);
    if (!plan->workdir || (source && !path))
        return err_set_oom(err, "plan");
    if (plan_argv(plan, in, path, err) < 0)
        return err->code;
    return plan_env(plan, in, err);
}
