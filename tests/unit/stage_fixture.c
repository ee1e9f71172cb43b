#include "stage_fixture.h"

#include <stdio.h>

#include "unit.h"

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const char *[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)  \
    }

struct plan_case c;

static struct manifest manifests[] = { { .file = "deps.txt" } };

const struct language stage_language = {
    .name = "stagelang",
    .extensions = WORDS(".s"),
    .source = "main.s",
    .deps_link = "node_modules",
    .env = WORDS("DEPS=${deps}", "HOME_OF_TOOL=${home}", "MEMORY=${memory_mb}"),
    .drivers = WORDS("build.sh"),
    .driver_texts = WORDS("exit 0"),
    .prepare = { .run = WORDS("${binary}", "${prepared}") },
    .install = { .run = WORDS("${binary}", "${deps}"),
                 .network = true,
                 .manifests = manifests,
                 .n_manifests = ARRAY_LEN(manifests),
                 .locks = WORDS("deps.lock") },
    .compile = { .run = WORDS("${binary}", "${sources}", "${build}", "${compile_args}"),
                 .env = WORDS("STAGE=compile", "DRIVER=${driver}/build.sh") },
    .check = { .run = WORDS("${binary}", "${source}") },
    .run = WORDS("${build}/program"),
};

static const struct toolchain tools = { .binary = "/home/somebody/tools/bin/tool",
                                        .home = "/home/somebody/tools",
                                        .tree = "/home/somebody/tools" };

static struct config_file config_files[] = {
    { .path = (char *)"/work/.netrc", .data = (char *)"password", .len = 8 },
    { .path = (char *)"/etc/resolv.conf", .data = (char *)"nameserver", .len = 10 },
};

static const struct stage_config config = {
    .files = config_files,
    .n_files = ARRAY_LEN(config_files),
    .network = { .mode = NETWORK_ALLOW },
    .env = WORDS("REGISTRY=https://example.invalid", "TOKEN=a${prepared}b${source}"),
};

static const struct stage_config no_config;
static const char *needs[] = { "/etc/tool" };

int stage_set_up(void **state)
{
    static const char *const files[] = { "main.s",    "other.s",      "deps.txt",
                                         "deps.lock", "sub/deps.txt", "notes.txt" };
    sbr_error err;

    (void)state;
    plan_case_init(&c);
    assert_int_equal(request_set_text(&c.request->code, NULL, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_int_equal(request_add_file(c.request, files[i], "x", 1, &err), 0);
    c.in.language = &stage_language;
    c.in.toolchain = &tools;
    c.in.needs = (struct words){ needs, ARRAY_LEN(needs) };
    c.in.run_dir = "/var/tmp/sandbox-run-place";
    c.in.layers[LAYER_PREPARED] = "/cache/prepared";
    c.in.layers[LAYER_DEPS] = "/cache/deps";
    c.in.layers[LAYER_BUILD] = "/cache/build";
    stage_case_enter(STAGE_RUN);
    return 0;
}

int stage_tear_down(void **state)
{
    (void)state;
    plan_case_done(&c);
    return 0;
}

void stage_case_enter(enum stage stage)
{
    c.in.stage = stage;
    c.in.config = stage == STAGE_INSTALL ? &config : &no_config;
    c.in.policy = policy_find(NULL);
}

bool has_rule(const struct plan *plan, const char *inside, enum access_kind access)
{
    for (size_t i = 0; i < plan->n_rules; i++)
        if (!strcmp(plan->rules[i].path + 1, inside) && plan->rules[i].access == access)
            return true;
    return false;
}

const char *env_of(const struct plan *plan, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; plan->env[i]; i++)
        if (!strncmp(plan->env[i], name, len) && plan->env[i][len] == '=')
            return plan->env[i] + len + 1;
    return NULL;
}

bool has_word(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

bool has_op_below(const struct plan *plan, const char *prefix)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (!strncmp(plan->ops[i].to, prefix, strlen(prefix)))
            return true;
    return false;
}

const char *op_text(const struct plan *plan, const char *to)
{
    static char text[500];
    const struct plan_op *op = plan_find_op(plan, to);

    assert_non_null(op);
    snprintf(text, sizeof(text), "%.*s", (int)op->len, (const char *)op->data);
    return text;
}
