#include <stdbool.h>
#include <string.h>

#include "generate/c_text.h"
#include "plan/filter.h"
#include "plan/policy_file.h"

#define POLICIES_MAX 32

struct entry {
    const char *path;
    struct policy_file *file;
};

/* In the order of the table: "default" first, then by name. */
struct policies {
    struct entry entries[POLICIES_MAX];
    size_t len;
};

static const struct policy_file *policies_find(const struct policies *all, const char *name)
{
    for (size_t i = 0; i < all->len; i++) {
        if (strcmp(all->entries[i].file->name, name) == 0)
            return all->entries[i].file;
    }
    return NULL;
}

static bool comes_before(const char *name, const char *other)
{
    if (strcmp(name, "default") == 0 || strcmp(other, "default") == 0)
        return strcmp(name, "default") == 0;
    return strcmp(name, other) < 0;
}

static int policies_insert(struct policies *all, struct entry entry, sbr_error *err)
{
    const char *name = entry.file->name;
    size_t at = all->len;

    if (policies_find(all, name))
        return err_set(err, SBR_E_INVALID, "compile",
                       "%s: another file already is policy '%s'; rename one of them", entry.path,
                       name);
    if (all->len == POLICIES_MAX)
        return err_set(err, SBR_E_INVALID, "compile", "%s: only %d policies fit; remove one",
                       entry.path, POLICIES_MAX);
    for (; at > 0 && comes_before(name, all->entries[at - 1].file->name); at--)
        all->entries[at] = all->entries[at - 1];
    all->entries[at] = entry;
    all->len++;
    return 0;
}

static int policies_load(struct policies *all, char *const *paths, sbr_error *err)
{
    for (; *paths; paths++) {
        struct policy_file *file;
        int r = policy_file_load(*paths, &file, err);

        if (r == 0) {
            r = policies_insert(all, (struct entry){ *paths, file }, err);
            if (r < 0)
                policy_file_free(file);
        }
        if (r < 0)
            return r;
    }
    if (!policies_find(all, "default"))
        return err_set(err, SBR_E_INVALID, "compile",
                       "no file is policy 'default'; name it among the files");
    return 0;
}

static int policies_find_base(const struct policies *all, const struct entry *entry,
                              const struct policy_file **ret_base, sbr_error *err)
{
    const char *extends = entry->file->extends;
    const struct policy_file *base = extends ? policies_find(all, extends) : NULL;

    /* One level only: a reader of a policy should have to open at most two files. */
    if (extends && (!base || base->extends))
        return err_set(err, SBR_E_INVALID, "compile",
                       "%s:%u: '%s' is %s; extend a policy that stands alone", entry->path,
                       document_line_of(entry->path, "extends"), extends,
                       base ? "an extension itself" : "in none of the files");
    *ret_base = base;
    return 0;
}

static void write_hosts(FILE *out, const struct policy_file *file)
{
    const struct policy_network *network = &file->network;

    if (!network->allow_hosts_count)
        return;
    fprintf(out, "\nstatic const char *const hosts_%s[] = {\n", file->name);
    for (unsigned i = 0; i < network->allow_hosts_count; i++) {
        fputs("    ", out);
        c_text_string(out, network->allow_hosts[i]);
        fputs(",\n", out);
    }
    fputs("};\n", out);
}

/* Writes nothing for a file without a network: zero is `none`. */
static void write_network(FILE *out, const struct policy_file *file)
{
    static const char *const modes[N_NETWORK_MODES] = {
        [NETWORK_NONE] = "NETWORK_NONE",
        [NETWORK_LOCALHOST] = "NETWORK_LOCALHOST",
        [NETWORK_ALLOW] = "NETWORK_ALLOW",
        [NETWORK_FULL] = "NETWORK_FULL",
    };
    const struct policy_network *network = &file->network;

    if (network->mode != NETWORK_NONE)
        fprintf(out, "    .network = %s,\n", modes[network->mode]);
    if (network->allow_hosts_count)
        fprintf(out, "    .allow_hosts = hosts_%s,\n    .n_allow_hosts = %u,\n", file->name,
                network->allow_hosts_count);
    if (network->allow_dns)
        fputs("    .allow_dns = true,\n", out);
}

/* An array of struct policy_rule. */
static void write_rules(FILE *out, const struct rules *rules, const char *policy)
{
    if (rules->len == 0)
        return;
    fprintf(out, "\nstatic const struct policy_rule rules_%s[] = {\n", policy);
    for (size_t number = 0; number < CALLS_MAX; number++) {
        const struct rules_entry *entry = &rules->calls[number];

        if (!entry->call)
            continue;
        fprintf(out, "    { %zu, ", number);
        c_text_string(out, entry->call);
        fputs(", ", out);
        c_text_string(out, entry->about);
        fprintf(out, ", \"%s.yaml\" },\n", entry->policy);
    }
    fputs("};\n", out);
}

static void write_policy(FILE *out, const struct policy_file *file, const struct bpf *program,
                         const struct rules *rules)
{
    write_hosts(out, file);
    write_rules(out, rules, file->name);
    fprintf(out, "\nstatic const struct policy_insn insns_%s[] = {\n", file->name);
    for (size_t i = 0; i < program->len; i++) {
        const struct policy_insn *insn = &program->code[i];

        fprintf(out, "    { 0x%02x, %3u, %3u, 0x%08x },\n", insn->code, insn->jt, insn->jf,
                insn->k);
    }
    fprintf(out, "};\n\nstatic const struct policy policy_%s = {\n    .name = ", file->name);
    c_text_string(out, file->name);
    fputs(",\n    .about = ", out);
    c_text_string(out, file->about);
    fprintf(out, ",\n    .proc = %s,\n    .filter = { insns_%s, %zu },\n",
            file->proc == POLICY_PROC_PID ? "POLICY_PROC_PID" : "POLICY_PROC_MASKED", file->name,
            program->len);
    if (file->internal)
        fputs("    .internal = true,\n", out);
    if (rules->len)
        fprintf(out, "    .rules = rules_%s,\n    .n_rules = %zu,\n", file->name, rules->len);
    write_network(out, file);
    fputs("};\n", out);
}

static int policies_write(const struct policies *all, const struct arch *arch, FILE *out,
                          sbr_error *err)
{
    static struct bpf program;
    static struct rules rules;

    fprintf(out,
            "/* Made by sandbox-run-generate from policies/ for %s: edit those files instead. */\n"
            "#include \"plan/policy.h\"\n",
            arch->name);
    for (size_t i = 0; i < all->len; i++) {
        const struct policy_file *file = all->entries[i].file, *base = NULL;
        int r = policies_find_base(all, &all->entries[i], &base, err);

        if (r == 0)
            r = filter_build(arch, base, file, &program, err);
        if (r < 0)
            return r;
        policy_rules_find(&rules, arch, base, file);
        write_policy(out, file, &program, &rules);
    }
    fputs("\nconst struct policy *const policy_table[] = {\n", out);
    for (size_t i = 0; i < all->len; i++)
        fprintf(out, "    &policy_%s,\n", all->entries[i].file->name);
    fputs("    NULL,\n};\n", out);
    return 0;
}

int generate_policies(FILE *out, const char *arch_name, char *const *paths, sbr_error *err)
{
    struct policies all = { .len = 0 };
    const struct arch *arch = calls_find_arch(arch_name);
    int r;

    if (!arch)
        return err_set(err, SBR_E_INVALID, "compile",
                       "architecture '%s' is not known; add a row to src/generate/calls_seccomp.c",
                       arch_name);
    r = policies_load(&all, paths, err);
    if (r == 0)
        r = policies_write(&all, arch, out, err);
    for (size_t i = 0; i < all.len; i++)
        policy_file_free(all.entries[i].file);
    return r;
}
