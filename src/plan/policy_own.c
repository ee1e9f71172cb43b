#include "plan/policy_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "base/text.h"
#include "plan/filter.h"
#include "plan/policy_file.h"

/* The parts that a policy points to live as long as it does: to the end of the process. */
struct own_policy {
    struct policy policy;
    struct policy_file *file;
    char *path;
    struct own_policy *next;
};

static struct own_policy *all;

static int load_base(const char *path, const struct policy_file *file, struct policy_file **ret,
                     sbr_error *err)
{
    for (const struct policy_source *s = policy_sources; file->extends && s->name; s++) {
        void *data;

        if (strcmp(s->name, file->extends) != 0)
            continue;
        if (document_load_text(s->name, s->text, strlen(s->text), &policy_schema, &data, err) < 0)
            return err->code;
        *ret = data;
        if (!(*ret)->extends && !(*ret)->internal)
            return 0;
        policy_file_free(data);
        *ret = NULL;
        break;
    }
    if (!file->extends)
        return 0;
    return err_set(
        err, SBR_E_INVALID, "policy",
        "%s:%u: '%s' cannot be extended; extend a shipped policy that stands alone, such "
        "as default",
        path, document_line_of(path, "extends"), file->extends);
}

static int check(const char *path, const struct policy_file *file, sbr_error *err)
{
    if (policy_find(file->name))
        return err_set(err, SBR_E_INVALID, "policy",
                       "%s:%u: '%s' is the name of another policy; choose a name of its own", path,
                       document_line_of(path, file->name), file->name);
    if (file->internal)
        return err_set(err, SBR_E_INVALID, "policy",
                       "%s:%u: only shipped policies can be internal; remove the line", path,
                       document_line_of(path, "internal"));
    return 0;
}

/* Only refusals on top of a shipped policy are stricter for certain; all else may allow more. */
static bool is_tighter(const struct policy_file *base, const struct policy_file *file)
{
    const struct policy_calls *calls = &file->syscalls;

    return base && !calls->allow_count && !calls->notice_count && !calls->arguments_count &&
           calls->unknown == ANSWER_NONE && file->proc >= base->proc;
}

static int copy_filter(struct policy *policy, const struct bpf *program, sbr_error *err)
{
    struct policy_insn *insns = malloc(program->len * sizeof(*insns));

    if (!insns)
        return err_set_oom(err, "policy");
    memcpy(insns, program->code, program->len * sizeof(*insns));
    policy->filter.insns = insns;
    policy->filter.len = program->len;
    return 0;
}

/* Copies: the names of the base are gone with it. */
static int copy_rules(struct own_policy *own, const struct rules *rules, sbr_error *err)
{
    struct policy_rule *made = calloc(rules->len + 1, sizeof(*made));
    size_t n = 0;

    if (!made)
        return err_set_oom(err, "policy");
    for (size_t number = 0; number < CALLS_MAX; number++) {
        const struct rules_entry *entry = &rules->calls[number];
        char *call = entry->call ? strdup(entry->call) : NULL;
        char *about = entry->call ? strdup(entry->about) : NULL;
        char *file = entry->call ? text_format("%s.yaml", entry->policy) : NULL;

        if (call && about && file) {
            made[n++] = (struct policy_rule){ (uint16_t)number, call, about, file };
            continue;
        }
        free(call);
        free(about);
        free(file);
    }
    own->policy.rules = made;
    own->policy.n_rules = n;
    return n == rules->len ? 0 : err_set_oom(err, "policy");
}

static int build(struct own_policy *own, const struct policy_file *base, sbr_error *err)
{
    static struct bpf program;
    static struct rules rules;
    const struct arch *arch = calls_find_arch(ARCH_NAME);
    const struct policy_file *file = own->file;

    if (filter_build(arch, base, file, &program, err) < 0)
        return err->code;
    policy_rules_find(&rules, arch, base, file);
    own->policy.name = file->name;
    own->policy.about = file->about;
    own->policy.proc = file->proc;
    own->policy.network = file->network.mode;
    own->policy.allow_hosts = (const char *const *)file->network.allow_hosts;
    own->policy.n_allow_hosts = file->network.allow_hosts_count;
    own->policy.allow_dns = file->network.allow_dns;
    own->policy.is_own = true;
    own->policy.may_allow_more = !is_tighter(base, file);
    return copy_filter(&own->policy, &program, err) < 0 ? err->code : copy_rules(own, &rules, err);
}

static void discard(struct own_policy *own)
{
    policy_file_free(own->file);
    free((void *)own->policy.filter.insns);
    free(own->path);
    free(own);
}

/* Reads, checks and compiles it. */
static int make(struct own_policy *own, sbr_error *err)
{
    struct policy_file *base = NULL;
    int r = policy_file_load(own->path, &own->file, err);

    if (r == 0)
        r = check(own->path, own->file, err);
    if (r == 0)
        r = load_base(own->path, own->file, &base, err);
    if (r == 0)
        r = build(own, base, err);
    policy_file_free(base);
    return r;
}

static int add(const char *path, struct own_policy **ret, sbr_error *err)
{
    struct own_policy *own = calloc(1, sizeof(*own));
    int r;

    if (!own || !(own->path = strdup(path))) {
        free(own);
        return err_set_oom(err, "policy");
    }
    r = make(own, err);
    if (r < 0 && !strcmp(err->stage, "compile")) /* as the build says it of a shipped one */
        snprintf(err->stage, sizeof(err->stage), "policy");
    if (r == 0 && policy_add(&own->policy) < 0)
        r = err_set(err, SBR_E_INVALID, "policy", "'%.200s' is one policy too many", path);
    if (r < 0) {
        discard(own);
        return r;
    }
    own->next = all;
    *ret = all = own;
    return 0;
}

int policy_own_add(const char *path, const struct policy **ret, sbr_error *err)
{
    struct own_policy *own = all;

    while (own && strcmp(own->path, path) != 0)
        own = own->next;
    if (!own && add(path, &own, err) < 0)
        return err->code;
    *ret = &own->policy;
    return 0;
}

const char *policy_own_path(const char *name)
{
    for (const struct own_policy *own = all; name && own; own = own->next)
        if (!strcmp(own->policy.name, name))
            return own->path;
    return NULL;
}
