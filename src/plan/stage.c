#include "plan/stage.h"

#include <stdio.h>
#include <string.h>

#include "plan/driver_object.h"
#include "plan/plan_image.h"
#include "plan/plan_root.h"

#define INSIDE_DRIVER "/driver"

/* clang-format off */
static const char *const stage_names[N_STAGES] = {
    [STAGE_RUN] = "run", [STAGE_PREPARE] = "prepare", [STAGE_INSTALL] = "dependencies",
    [STAGE_COMPILE] = "compile", [STAGE_CHECK] = "check",
};

static const struct {
    const char *inside;
    enum stage maker;
    enum word_name word;
} layer_defs[N_LAYERS] = {
    [LAYER_PREPARED] = { "/prepared", STAGE_PREPARE, WORD_PREPARED },
    [LAYER_DEPS]     = { "/deps",     STAGE_INSTALL, WORD_DEPS     },
    [LAYER_BUILD]    = { "/build",    STAGE_COMPILE, WORD_BUILD    },
};

/* clang-format on */

const char *stage_name(enum stage stage)
{
    return stage_names[stage];
}

const struct stage_def *stage_def(const struct language *language, enum stage stage)
{
    if (!language)
        return NULL;
    switch (stage) {
    case STAGE_PREPARE:
        return &language->prepare;
    case STAGE_INSTALL:
        return &language->install;
    case STAGE_COMPILE:
        return &language->compile;
    case STAGE_CHECK:
        return &language->check;
    case STAGE_RUN:
    case N_STAGES:
        break;
    }
    return NULL;
}

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);

    return !strncmp(path, top, len) && (path[len] == '\0' || path[len] == '/');
}

const char *plan_inside(struct plan *plan, const char *path)
{
    static const char *const own[] = { INSIDE_WORK, "/tmp",      "/build",
                                       "/deps",     "/prepared", "/driver" };

    for (size_t i = 0; plan->run_dir && i < ARRAY_LEN(own); i++)
        if (is_below(path, own[i]))
            return plan_printf(plan, "%s%s", plan->run_dir, path);
    return path;
}

static int add_rule(struct plan *plan, const char *path, enum access_kind access, sbr_error *err)
{
    if (!plan->landlock_abi)
        return 0;
    if (!path)
        return err_set_oom(err, "plan");
    if (plan->n_rules == PLAN_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "plan", "there are more trees than rules for them");
    plan->rules[plan->n_rules++] =
        (struct plan_rule){ .path = path, .access = access, .optional = access == ACCESS_READ };
    return 0;
}

/* Shows a tree of the host.  Where nothing can be mounted, it keeps its path. */
static int bring(struct plan *plan, const struct plan_input *in, const char *from, const char *to,
                 sbr_error *err)
{
    struct plan_op op = { .kind = OP_BIND, .flags = OP_VIEW, .from = from, .to = to + 1 };

    /* The program runs as another user then and cannot read root's private files. */
    if (plan->run_dir && in->features->uid == 0)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces root cannot give the program '%s'; call as an ordinary "
                       "user, or see `sandbox-run doctor`",
                       from);
    if (plan->run_dir)
        return add_rule(plan, from, ACCESS_READ, err);
    if (in->features->privileged && in->features->mounts)
        op.flags |= OP_PASSED;
    if (in->image)
        op.flags |= OP_OVER;
    return plan_add_op(plan, op, err);
}

/* The toolchain's tree under a neutral name, or its binary alone. */
static const char *toolchain_target(struct plan *plan, const struct plan_input *in)
{
    const struct toolchain *tools = in->toolchain;

    if (!strcmp(tools->tree, tools->binary))
        return plan_printf(plan, "/toolchain/%s/bin%s", in->language->name,
                           strrchr(tools->binary, '/'));
    return plan_printf(plan, "/toolchain/%s", in->language->name);
}

static int bring_tools(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *target;

    if (in->toolchain && in->toolchain->tree[0]) {
        target = toolchain_target(plan, in);
        if (!target)
            return err_set_oom(err, "plan");
        if (bring(plan, in, in->toolchain->tree, target, err) < 0)
            return err->code;
    }
    for (unsigned int i = 0; i < in->needs.n; i++)
        if (!plan_secrets_replace(plan, in->needs.at[i]) &&
            bring(plan, in, in->needs.at[i], in->needs.at[i], err) < 0)
            return err->code;
    return 0;
}

/* True when the stage writes this layer. */
static bool makes(const struct plan_input *in, enum layer layer)
{
    return in->stage == layer_defs[layer].maker ||
           (in->stage == STAGE_CHECK && layer == LAYER_BUILD);
}

static int open_layer(struct plan *plan, const struct plan_input *in, enum layer layer,
                      sbr_error *err)
{
    const char *inside = layer_defs[layer].inside;
    struct plan_op op = { .kind = OP_SCRATCH, .to = inside + 1, .mode = 0755 };

    if (in->stage != STAGE_CHECK)
        plan->collects[plan->n_collects++] =
            (struct plan_collect){ .what = COLLECTS_TREE, .path = inside + 1 };
    if (plan_add_op(plan, op, err) < 0)
        return err->code;
    return add_rule(plan, plan_inside(plan, inside), ACCESS_WRITE, err);
}

static int bring_layers(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    for (unsigned int i = 0; i < N_LAYERS; i++) {
        int r = 0;

        if (makes(in, (enum layer)i))
            r = open_layer(plan, in, (enum layer)i, err);
        else if (in->layers[i])
            r = bring(plan, in, in->layers[i], layer_defs[i].inside, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A link in the root to the dependencies, for tools that search parent directories. */
static int link_dependencies(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *name = in->language ? in->language->deps_link : NULL;
    struct plan_op op = { .kind = OP_SYMLINK, .to = name };

    if (!name || !in->layers[LAYER_DEPS] || makes(in, LAYER_DEPS))
        return 0;
    op.from =
        plan_printf(plan, "%s/%s",
                    plan->run_dir ? in->layers[LAYER_DEPS] : layer_defs[LAYER_DEPS].inside, name);
    return op.from ? plan_add_op(plan, op, err) : err_set_oom(err, "plan");
}

const struct words *stage_words(const struct language *language, enum stage stage,
                                const sbr_request *req)
{
    static const char *copy = "${driver}/" DRIVER_OBJECT_COPY;
    static const struct words loader = { &copy, 1 };
    const struct stage_def *def = stage_def(language, stage);

    return def                ? &def->run
           : req->kernel_copy ? &loader
           : req->kernel      ? &language->session.run
           : req->profiled    ? &language->profile.run
                              : &language->run;
}

const struct words *stage_command_of(const struct plan_input *in)
{
    static const struct words none;

    if (!stage_def(in->language, in->stage) && in->language->is_tools && !in->layers[LAYER_DEPS] &&
        !in->layers[LAYER_PREPARED] && !in->layers[LAYER_BUILD])
        return &none;
    return stage_words(in->language, in->stage, in->request);
}

bool stage_uses_drivers(const struct plan_input *in)
{
    const struct stage_def *def = stage_def(in->language, in->stage);
    static const enum word_name names[] = { WORD_DRIVER, WORD_LIVE, WORD_PROFILE };
    bool found = false;

    for (size_t i = 0; !found && i < ARRAY_LEN(names); i++)
        found = words_use(stage_command_of(in), names[i]) ||
                words_use(&in->language->env, names[i]) || (def && words_use(&def->env, names[i]));
    return found;
}

/* True for an object that needs a C library as this machine's. */
static bool needs_libc(const char *driver)
{
    return driver_object_is(driver) && strcmp(driver, DRIVER_OBJECT_COPY) != 0 &&
           strcmp(driver, DRIVER_OBJECT_BYTECODE) != 0;
}

bool stage_objects_run(const struct plan_input *in)
{
    const struct language *language = in->language;

    if (!in->image || !language || in->image->runs_objects)
        return true;
    for (unsigned int i = 0; i < language->drivers.n; i++) {
        const char *driver = language->drivers.at[i];

        if (needs_libc(driver) &&
            (in->request->profiled || !words_have(&language->profile.drivers, driver)))
            return false;
    }
    return true;
}

/* A driver that parts of the file name is for them alone. */
static bool is_common(const struct language *language, const char *driver)
{
    const struct words *const parts[] = {
        &language->prepare.drivers, &language->install.drivers, &language->compile.drivers,
        &language->check.drivers,   &language->warm.drivers,    &language->session.drivers,
        &language->profile.drivers, &language->setup.drivers,
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (words_have(parts[i], driver))
            return false;
    return true;
}

/* It stands before a command of the user's, and this is none. */
static bool is_for_commands(const struct language *language, const char *driver)
{
    char word[128];

    snprintf(word, sizeof(word), "${driver}/%s", driver);
    return !language->is_tools && words_have(&language->command, word);
}

static int add_driver_file(struct plan *plan, const char *to, const void *data, size_t len,
                           sbr_error *err)
{
    struct plan_op op = { .kind = plan->run_dir ? OP_PROGRAM : OP_FILE,
                          .to = to,
                          .mode = 0555,
                          .data = data,
                          .len = len };

    return to ? plan_add_op(plan, op, err) : err_set_oom(err, "plan");
}

static int add_driver_object(struct plan *plan, const struct driver_object *object, sbr_error *err)
{
    struct plan_op dir = { .kind = OP_DIR, .mode = 0755 };
    const char *to = plan_printf(plan, "driver/%s%s%s", object->dir ? object->dir : "",
                                 object->dir ? "/" : "", object->file);

    /* Without a private root the file brings its directories along. */
    if (object->dir && !plan->run_dir) {
        dir.to = plan_printf(plan, "driver/%s", object->dir);
        if (!dir.to)
            return err_set_oom(err, "plan");
        if (plan_add_op(plan, dir, err) < 0)
            return err->code;
    }
    return add_driver_file(plan, to, object->data, object->len, err);
}

static int add_driver(struct plan *plan, const struct language *language, unsigned int index,
                      sbr_error *err)
{
    const char *name = language->drivers.at[index], *text = language->driver_texts.at[index];
    struct driver_object object;

    if (!driver_object_is(name))
        return add_driver_file(plan, plan_printf(plan, "driver/%s", name), text, strlen(text), err);
    object = driver_object_find(name);
    return add_driver_object(plan, &object, err);
}

int plan_drivers(struct plan *plan, const struct plan_input *in, const struct words *own,
                 bool common, sbr_error *err)
{
    const struct language *language = in->language;

    for (unsigned int i = 0; i < language->drivers.n; i++) {
        const char *name = language->drivers.at[i];

        if (!(own && words_have(own, name)) &&
            !(common && is_common(language, name) && !is_for_commands(language, name)))
            continue;
        if (add_driver(plan, language, i, err) < 0)
            return err->code;
    }
    return 0;
}

/* The drivers that only this stage has; NULL: none. */
static const struct words *own_drivers(const struct plan_input *in)
{
    const struct stage_def *def = stage_def(in->language, in->stage);

    return def                     ? &def->drivers
           : in->request->kernel   ? &in->language->session.drivers
           : in->request->profiled ? &in->language->profile.drivers
                                   : NULL;
}

/* Our small files, outside the program's own directory.  Without a private root the program can
 * change them, but the copy is its own. */
static int bring_drivers(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    struct plan_op dir = { .kind = plan->run_dir ? OP_SCRATCH : OP_DIR,
                           .to = "driver",
                           .mode = 0755 };

    if (!in->language || !in->language->drivers.n)
        return 0;
    if (plan_add_op(plan, dir, err) < 0 ||
        (plan->run_dir && add_rule(plan, plan_inside(plan, INSIDE_DRIVER), ACCESS_READ, err) < 0))
        return err->code;
    if (stage_uses_drivers(in) && plan_drivers(plan, in, own_drivers(in), true, err) < 0)
        return err->code;
    return in->stage == STAGE_COMPILE && in->request->profiled
               ? plan_drivers(plan, in, &in->language->profile.drivers, false, err)
               : 0;
}

static int bring_config(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const struct stage_config *config = in->config;

    for (size_t i = 0; config && i < config->n_files; i++) {
        const struct config_file *file = &config->files[i];
        bool at_home = !strncmp(file->path, INSIDE_WORK "/", sizeof(INSIDE_WORK));
        struct plan_op op = { .kind = at_home ? OP_PROGRAM : OP_FILE,
                              .to = file->path + 1,
                              .mode = at_home ? 0600 : 0444,
                              .flags = in->image && !at_home ? OP_OVER : 0,
                              .data = file->data,
                              .len = file->len };
        int r = plan->run_dir && !at_home ? add_rule(plan, file->path, ACCESS_READ, err)
                                          : plan_add_op(plan, op, err);

        if (r < 0)
            return r;
    }
    return 0;
}

int plan_stage(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    if (bring_tools(plan, in, err) < 0 || bring_layers(plan, in, err) < 0 ||
        link_dependencies(plan, in, err) < 0 || bring_drivers(plan, in, err) < 0)
        return err->code;
    return bring_config(plan, in, err);
}

/* The path inside of a toolchain's path. */
static const char *tool_inside(struct plan *plan, const struct plan_input *in, const char *path)
{
    const struct toolchain *tools = in->toolchain;
    size_t len = strlen(tools->tree);

    if (plan->run_dir || !len)
        return plan_printf(plan, "%s", path);
    if (!strcmp(tools->tree, tools->binary))
        return strcmp(path, tools->binary) ? NULL : toolchain_target(plan, in);
    return plan_printf(plan, "/toolchain/%s%s", in->language->name,
                       strncmp(path, tools->tree, len) ? "" : path + len);
}

static bool has_extension(const struct language *language, const char *path)
{
    const char *dot = strrchr(path, '.');

    for (unsigned int i = 0; dot && i < language->extensions.n; i++)
        if (!strcmp(language->extensions.at[i], dot))
            return true;
    return false;
}

/* All files of the program in its language, the main one first. */
static int list_sources(struct plan *plan, const struct plan_input *in, const char *source,
                        struct words *ret, sbr_error *err)
{
    const sbr_request *req = in->request;
    const char *work = plan_inside(plan, INSIDE_WORK);

    ret->at = plan_alloc(plan, (req->n_files + 1) * sizeof(*ret->at));
    if (!ret->at || !work)
        return err_set_oom(err, "plan");
    if (source)
        ret->at[ret->n++] = source;
    for (size_t i = 0; i < req->n_files; i++) {
        const char *path = plan_printf(plan, "%s/%s", work, req->files[i].path);

        if (!path)
            return err_set_oom(err, "plan");
        if (has_extension(in->language, path) && (!source || strcmp(path, source) != 0))
            ret->at[ret->n++] = path;
    }
    return 0;
}

bool stage_sees_work(const struct plan_input *in)
{
    return (in->request->project || in->request->workspace) && in->stage != STAGE_PREPARE &&
           in->stage != STAGE_INSTALL;
}

int plan_stage_values(struct plan *plan, const struct plan_input *in, const char *source,
                      struct word_values *ret, sbr_error *err)
{
    const struct string_list *args = &in->request->compile_args;
    const char **text = ret->text;

    *ret = (struct word_values){ .compile_args = { (const char **)args->items,
                                                   (unsigned int)args->n } };
    if (in->toolchain) {
        text[WORD_BINARY] = tool_inside(plan, in, in->toolchain->binary);
        text[WORD_HOME] =
            in->toolchain->home[0] ? tool_inside(plan, in, in->toolchain->home) : NULL;
    }
    if (in->toolchain && in->toolchain->tree[0] && in->toolchain->home[0])
        text[WORD_TOOLCHAIN] = text[WORD_HOME];
    text[WORD_SOURCE] = source;
    text[WORD_WORK] = plan_inside(plan, INSIDE_WORK);
    /* A directory that may have modules which are not in the request. */
    text[WORD_PROJECT] = stage_sees_work(in) ? text[WORD_WORK] : NULL;
    text[WORD_DRIVER] = in->request->kernel_drivers ? in->request->kernel_drivers
                                                    : plan_inside(plan, INSIDE_DRIVER);
    text[WORD_LIVE] = in->request->buffered || !stage_objects_run(in) ? NULL : text[WORD_DRIVER];
    text[WORD_PROFILE] = in->request->profiled ? text[WORD_DRIVER] : NULL;
    text[WORD_MEMORY_MB] =
        plan_printf(plan, "%llu", (unsigned long long)(plan->limits.value[SBR_MEMORY_BYTES] >> 20));
    for (unsigned int i = 0; i < N_LAYERS; i++) {
        const char *inside = layer_defs[i].inside;

        if (makes(in, (enum layer)i))
            text[layer_defs[i].word] = plan_inside(plan, inside);
        else if (in->layers[i])
            text[layer_defs[i].word] = plan->run_dir ? in->layers[i] : inside;
    }
    if (!text[WORD_WORK] || !text[WORD_DRIVER] || !text[WORD_MEMORY_MB])
        return err_set_oom(err, "plan");
    return in->language ? list_sources(plan, in, source, &ret->sources, err) : 0;
}
