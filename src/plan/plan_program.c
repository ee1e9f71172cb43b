/* The program's files, command line and environment. */
#include <string.h>

#include "plan/language.h"
#include "plan/plan_image.h"
#include "plan/plan_root.h"

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

static void *alloc_in_plan(void *context, size_t size)
{
    return plan_alloc(context, size);
}

/* The variables of the language and of its stage; their values differ between runs. */
static int language_env(struct plan *plan, const struct plan_input *in,
                        const struct word_values *values, struct word_output *ret, sbr_error *err)
{
    const struct stage_def *stage = stage_def(in->language, in->stage);
    static const struct words none;
    const struct words *const lists[] = { in->language ? &in->language->env : &none,
                                          stage ? &stage->env : &none };
    const struct words *config = in->config ? &in->config->env : &none;
    size_t room = config->n + 1;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        room += words_room(lists[i], values);
    *ret = (struct word_output){ .alloc = alloc_in_plan, .context = plan };
    ret->at = plan_alloc(plan, room * sizeof(*ret->at));
    for (size_t i = 0; ret->at && i < ARRAY_LEN(lists); i++)
        if (words_expand(lists[i], values, ret) < 0)
            ret->at = NULL;
    if (!ret->at)
        return err_set_oom(err, "plan");
    for (unsigned int i = 0; i < config->n; i++) /* of the user: not expanded */
        ret->at[ret->n++] = config->at[i];
    return 0;
}

/* Files that tools store in a home directory must not appear as changes of the project. */
static const char *plan_home(const struct plan_input *in)
{
    const struct plan_image_user *user = in->image ? in->image->user : NULL;

    if (user && user->home[0] && in->stage == STAGE_RUN)
        return user->home;
    return in->request->project && stage_sees_work(in) ? "/tmp" : INSIDE_WORK;
}

static const char *user_variable(struct plan *plan, const struct plan_input *in)
{
    const struct plan_image_user *user = in->image ? in->image->user : NULL;

    return user && user->name[0] ? plan_printf(plan, "USER=%s", user->name) : "USER=sandbox";
}

static const struct string_list no_strings;

#define KERNEL_ENV "SANDBOX_RUN_KERNEL_FD=3" /* PLAN_KERNEL_FD */
#define DEFAULT_TERM "xterm-256color"

/* What an image says goes with the job; the plan may stay. */
static int keep_word(struct plan *plan, const char *text, const char **ret, sbr_error *err)
{
    *ret = plan_printf(plan, "%s", text);
    return *ret ? 0 : err_set_oom(err, "plan");
}

/* The variables that say what terminal it is. */
static size_t tty_env(struct plan *plan, const struct plan_input *in, const char *ret[2])
{
    const struct request_tty *tty = &in->request->tty;
    size_t n = 0;

    if (!plan->tty.rows)
        return 0;
    ret[n++] = plan_printf(plan, "TERM=%s", tty->term[0] ? tty->term : DEFAULT_TERM);
    if (tty->colorterm[0])
        ret[n++] = plan_printf(plan, "COLORTERM=%s", tty->colorterm);
    return n;
}

/* A command with the tools of a language finds them, and what its packages brought, by name. */
static const char *path_variable(struct plan *plan, const struct plan_input *in,
                                 const struct word_values *values)
{
    const char *binary = values->text[WORD_BINARY], *deps = values->text[WORD_DEPS];
    const char *slash = binary ? strrchr(binary, '/') : NULL;
    const char *usual = in->image ? in->image->path : PLAN_USUAL_PATH;

    if (!slash || !in->language || in->stage != STAGE_RUN || !in->language->is_tools)
        return in->image ? plan_printf(plan, "PATH=%s", usual) : "PATH=" PLAN_USUAL_PATH;
    if (deps)
        return plan_printf(plan, "PATH=%s/bin:%s/node_modules/.bin:%.*s:%s", deps, deps,
                           (int)(slash - binary), binary, usual);
    return plan_printf(plan, "PATH=%.*s:%s", (int)(slash - binary), binary, usual);
}

static int plan_env(struct plan *plan, const struct plan_input *in,
                    const struct word_values *values, const struct string_list *given,
                    sbr_error *err)
{
    const char *const base_env[] = {
        path_variable(plan, in, values),
        plan_printf(plan, "HOME=%s%s", plan->run_dir ? plan->run_dir : "", plan_home(in)),
        "LANG=C.UTF-8",
        user_variable(plan, in),
        /* Only where it is not /tmp. */
        plan_printf(plan, "TMPDIR=%s/tmp", plan->run_dir ? plan->run_dir : ""),
    };
    size_t n_base = ARRAY_LEN(base_env) - (plan->run_dir ? 0 : 1), n = 0;
    const char *tty[2];
    size_t n_tty = tty_env(plan, in, tty);
    const struct string_list *image = in->image ? in->image->env : &no_strings;
    struct word_output own;
    const char *word, *secret[PLAN_SECRETS_ENV_MAX];
    int n_secret = plan_secrets_env(plan, in, secret, err);

    if (n_secret < 0 || language_env(plan, in, values, &own, err) < 0)
        return err->code;
    plan->env =
        plan_alloc(plan, (n_base + n_tty + image->n + own.n + given->n + 3 + PLAN_SECRETS_ENV_MAX) *
                             sizeof(*plan->env));
    if (!plan->env || !base_env[0] || !base_env[1] || !base_env[3] || !base_env[4])
        return err_set_oom(err, "plan");
    for (size_t i = 0; i < n_base; i++)
        env_set(plan->env, &n, base_env[i]);
    for (size_t i = 0; i < n_tty && tty[i]; i++)
        env_set(plan->env, &n, tty[i]);
    for (size_t i = 0; i < image->n; i++)
        if (strncmp(image->items[i], "PATH=", 5) != 0 &&
            keep_word(plan, image->items[i], &word, err) == 0)
            env_set(plan->env, &n, word);
    for (size_t i = 0; i < own.n; i++)
        env_set(plan->env, &n, own.at[i]);
    for (size_t i = 0; i < given->n; i++)
        env_set(plan->env, &n, given->items[i]);
    for (int i = 0; i < n_secret; i++)
        env_set(plan->env, &n, secret[i]);
    if (plan->kernel)
        env_set(plan->env, &n, KERNEL_ENV);
    if (in->request->of_project && in->stage == STAGE_INSTALL)
        env_set(plan->env, &n, in->n_trees ? "PROJECT=" INSIDE_PROJECT : "PROJECT=" INSIDE_WORK);
    return 0;
}

/* The home directory of an installer has the client's own settings, such as .npmrc: those of the
 * project have another name there. */
static const char *file_prefix(const struct plan_input *in, const char *path)
{
    return in->stage == STAGE_INSTALL && path[0] == '.' ? "project" : "";
}

static bool has_same_top(const char *a, const char *b)
{
    size_t len = strcspn(a + 1, "/") + 1;

    return !strncmp(a, b, len) && (!b[len] || b[len] == '/');
}

/* A file of a command may lie in its work directory, in /tmp, or in an image. */
static int check_place(const struct plan *plan, const struct plan_input *in, const char *path,
                       sbr_error *err)
{
    const char *workdir = plan_workdir(in);
    bool is_ours =
        has_same_top("/dev", path) || has_same_top("/proc", path) || has_same_top("/sys", path);

    if (plan->run_dir)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "the file '%.100s' lies outside /work, which needs namespaces; give a "
                       "relative path, or see `sandbox-run doctor`",
                       path);
    if (has_same_top("/tmp", path) || (!is_ours && (in->image || has_same_top(workdir, path))))
        return 0;
    return err_set(err, SBR_E_INVALID, "plan",
                   "the file '%.100s' lies neither in the work directory %.100s nor in /tmp; give "
                   "a relative path",
                   path, workdir);
}

static int add_file(struct plan *plan, const struct plan_input *in, const struct request_file *file,
                    const char *path, sbr_error *err)
{
    struct plan_op op = { .kind = OP_PROGRAM,
                          .to = plan_printf(plan, "work/%s%s", file_prefix(in, path), path),
                          .mode = file->executable ? 0755 : 0644,
                          .data = file->data,
                          .len = file->len };

    if (*path == '/') {
        op.to = plan_printf(plan, "%s", path + 1);
        op.flags = OP_OVER;
        if (check_place(plan, in, path, err) < 0)
            return err->code;
    }
    return op.to ? plan_add_op(plan, op, err) : err_set_oom(err, "plan");
}

/* The language's file name for code, unless the project has a file of that name. */
static const char *code_name(const struct plan_input *in)
{
    return in->code_name && *in->code_name ? in->code_name : in->language->source;
}

/* True when the stage sees this file: an installer sees only manifests and lock files. */
static bool is_for_stage(const struct plan_input *in, const char *path)
{
    const struct stage_def *def = stage_def(in->language, in->stage);
    bool found = in->stage != STAGE_INSTALL && in->stage != STAGE_PREPARE;

    for (unsigned int i = 0; !found && in->stage == STAGE_INSTALL && i < def->n_manifests; i++)
        found = manifest_is(&def->manifests[i], path);
    for (unsigned int i = 0; !found && in->stage == STAGE_INSTALL && i < def->locks.n; i++)
        found = !strcmp(def->locks.at[i], path);
    return found || (in->stage == STAGE_INSTALL && in->request->of_project);
}

static bool has_file(const sbr_request *req, const char *path)
{
    for (size_t i = 0; i < req->n_files; i++)
        if (!strcmp(req->files[i].path, path))
            return true;
    return false;
}

/* An installer does not see the project, but gets its manifests. */
static int plan_manifests(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    for (size_t i = 0; in->stage == STAGE_INSTALL && i < in->n_manifests; i++) {
        const struct request_file *file = &in->manifests[i];

        if (is_for_stage(in, file->path) && !has_file(in->request, file->path) &&
            add_file(plan, in, file, file->path, err) < 0)
            return err->code;
    }
    return 0;
}

/* *ret_source is the program below /work: its file's name, or the language's for one. */
static int plan_files(struct plan *plan, const struct plan_input *in, const char **ret_source,
                      sbr_error *err)
{
    const sbr_request *req = in->request;
    const char *source = NULL;

    if (req->code && !in->language)
        return err_set(err, SBR_E_INVALID, "plan",
                       "the request has code but no language; name one%s",
                       request_word(req, CALLED_LANGUAGE));
    if (req->code) {
        struct request_file program = { .data = req->code, .len = req->code_len };

        source = code_name(in);
        if (is_for_stage(in, source) && add_file(plan, in, &program, source, err) < 0)
            return err->code;
    } else if (req->program) { /* already in the project */
        source = req->program;
    } else if (req->n_files) {
        source = req->files[0].path;
    }
    for (size_t i = 0; i < req->n_files; i++) {
        const char *path = req->files[i].path;
        size_t len = strlen(source);

        if (req->code && !strncmp(path, source, len) && (path[len] == '\0' || path[len] == '/'))
            return err_set(err, SBR_E_INVALID, "plan",
                           "the file '%s' has the name that the code itself takes", path);
        if (is_for_stage(in, path) && add_file(plan, in, &req->files[i], path, err) < 0)
            return err->code;
    }
    for (size_t i = 0; i < in->n_given; i++)
        if (add_file(plan, in, &in->given[i], in->given[i].path, err) < 0)
            return err->code;
    *ret_source = source;
    return plan_manifests(plan, in, err);
}

/* The words after a stage's command: the program's arguments, or the dependencies to install. */
static const struct string_list *trailing_args(const struct plan_input *in)
{
    if (in->stage == STAGE_RUN)
        return in->image && !in->language && !in->request->args.n ? in->image->command
                                                                  : &in->request->args;
    return in->stage == STAGE_INSTALL ? &in->request->deps : &no_strings;
}

static const struct words *stage_command(const struct plan_input *in)
{
    static const struct words none;

    return in->language ? stage_command_of(in) : &none;
}

static int plan_argv(struct plan *plan, const struct words *words, const struct word_values *values,
                     const struct string_list *args, sbr_error *err)
{
    struct word_output out = { .alloc = alloc_in_plan, .context = plan };

    out.at = plan_alloc(plan, (words_room(words, values) + args->n + 1) * sizeof(*out.at));
    if (!out.at || words_expand(words, values, &out) < 0)
        return err_set_oom(err, "plan");
    for (size_t i = 0; i < args->n; i++)
        if (keep_word(plan, args->items[i], &out.at[out.n++], err) < 0)
            return err->code;
    if (out.n == 0 || !out.at[0][0])
        return err_set(err, SBR_E_INVALID, "plan",
                       "there is no command to run; a request names one in `args`, or a program by "
                       "`language` and `code`, `files` or `program`");
    plan->argv = out.at;
    return 0;
}

static bool needs_program(const struct plan_input *in)
{
    const sbr_request *req = in->request;

    return in->language && req->language && !req->command && !req->kernel &&
           in->stage != STAGE_PREPARE;
}

/* The image's own directory counts where nothing of the request is at /work. */
const char *plan_workdir(const struct plan_input *in)
{
    const sbr_request *req = in->request;
    bool has_work = req->n_files || req->code || req->project || req->workspace || in->language;

    if (in->stage != STAGE_RUN)
        return INSIDE_WORK;
    if (req->workdir)
        return req->workdir;
    if (!in->image || !in->image->workdir || has_work)
        return INSIDE_WORK;
    return in->image->has_workdir || !req->read_only ? in->image->workdir : INSIDE_WORK;
}

/* As Docker does, makes the directory where an image lacks it. */
static int add_workdir(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    struct plan_op made = { .kind = OP_PROGRAM, .flags = OP_DIRECTORY | OP_OVER, .mode = 0755 };

    if (keep_word(plan, in->new_workdir ? in->new_workdir : plan_workdir(in), &plan->workdir, err) <
        0)
        return err->code;
    made.to = plan->workdir + 1;
    if (in->new_workdir && plan_add_op(plan, made, err) < 0)
        return err->code;
    plan->workdir = plan_inside(plan, plan->workdir);
    return 0;
}

static int check_session(const struct plan_input *in, sbr_error *err)
{
    if (!(in->language && in->language->session.run.n))
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "%s has no sessions; `sandbox-run languages` shows which have",
                       in->language ? in->language->name : "a command");
    if (!stage_objects_run(in))
        return err_set(
            err, SBR_E_UNSUPPORTED, "plan",
            "sessions of %s need a C library as this machine's, which the image does not "
            "have; run the session without it",
            in->language->name);
    return 0;
}

static int check_profile(const struct plan_input *in, sbr_error *err)
{
    if (!(in->language && in->language->profile.run.n))
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "%s has no profiler of functions; leave --functions out",
                       in->language ? in->language->name : "a command");
    if (!stage_objects_run(in))
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "the profiler of functions in %s needs a C library as this machine's, which "
                       "the image does not have; leave --functions or the image out",
                       in->language->name);
    return 0;
}

int plan_program(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *source = NULL, *path = NULL;
    struct word_values values;

    if (plan_files(plan, in, &source, err) < 0)
        return err->code;
    plan->kernel = in->request->kernel && in->stage == STAGE_RUN;
    if (plan->kernel && check_session(in, err) < 0)
        return err->code;
    if (in->request->profiled && check_profile(in, err) < 0)
        return err->code;
    if (needs_program(in) && !source)
        return err_set(err, SBR_E_INVALID, "plan", "there is no program; give %s",
                       request_word(in->request, CALLED_A_PROGRAM));
    if (add_workdir(plan, in, err) < 0)
        return err->code;
    if (source)
        path =
            plan_printf(plan, "%s" INSIDE_WORK "/%s", plan->run_dir ? plan->run_dir : "", source);
    if (!plan->workdir || (source && !path))
        return err_set_oom(err, "plan");
    if (plan_stage_values(plan, in, path, &values, err) < 0 ||
        plan_argv(plan, stage_command(in), &values, trailing_args(in), err) < 0)
        return err->code;
    return plan_env(plan, in, &values, in->stage == STAGE_RUN ? &in->request->env : &no_strings,
                    err);
}

int plan_waiting(struct plan *plan, const struct plan_input *in, const struct words *command,
                 sbr_error *err)
{
    struct word_values values = { 0 };

    if (plan_stage_values(plan, in, NULL, &values, err) < 0)
        return err->code;
    values.sources.n = values.compile_args.n = 0;
    /* A driver gets a limit that is only in a variable with its program, so that runs with
     * different limits share standby sandboxes. */
    if (!words_use(command, WORD_MEMORY_MB))
        values.text[WORD_MEMORY_MB] = NULL;
    values.text[WORD_LIVE] = values.text[WORD_DRIVER]; /* `buffered` belongs to a program */
    if (plan_argv(plan, command, &values, &no_strings, err) < 0)
        return err->code;
    return plan_env(plan, in, &values, &no_strings, err);
}
