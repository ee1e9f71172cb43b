/* sbr_runtime: what this machine offers. */
#include <jansson.h>
#include <stdlib.h>

#include "executor/executor.h"
#include "sandbox/probe.h"

uint32_t sbr_version(void)
{
    return SBR_VERSION_MAJOR << 16 | SBR_VERSION_MINOR << 8 | SBR_VERSION_PATCH;
}

int sbr_runtime_open(const char *data_dir, sbr_runtime **ret, sbr_error *err)
{
    sbr_error unused, *e = err ? err : &unused;
    sbr_runtime *rt;

    if (!ret)
        return err_set(e, SBR_E_INVALID, "runtime", "there is no place for the runtime");
    if (data_dir)
        return err_set(e, SBR_E_INVALID, "runtime", "data_dir is reserved and must be NULL");
    rt = calloc(1, sizeof(*rt));
    if (!rt)
        return err_set_oom(e, "runtime");
    probe_features(&rt->features);
    *ret = rt;
    return 0;
}

static json_t *languages_json(void)
{
    json_t *array = json_array();

    for (size_t i = 0; language_table[i]; i++) {
        const char *binary = executor_locate(language_table[i]);

        json_array_append_new(array,
                              json_pack("{s:s, s:s, s:s?}", "name", language_table[i]->name,
                                        "about", language_table[i]->about, "binary", binary));
    }
    return array;
}

static json_t *policies_json(void)
{
    json_t *array = json_array();

    for (size_t i = 0; policy_table[i]; i++)
        json_array_append_new(array, json_pack("{s:s, s:s}", "name", policy_table[i]->name, "about",
                                               policy_table[i]->about));
    return array;
}

static json_t *features_json(const struct features *f)
{
    static const char *const kinds[] = { "none", "v1", "v2" };

    return json_pack("{s:b, s:b, s:i, s:s, s:i, s:I, s:I}", "user_namespaces", f->user_namespaces,
                     "seccomp", f->seccomp, "landlock_abi", f->landlock_abi, "cgroup",
                     kinds[f->cgroup.kind], "cgroup_controllers", (int)f->cgroup.usable,
                     "memory_bytes", (json_int_t)f->machine.memory_bytes, "cpus",
                     (json_int_t)f->machine.cpus);
}

char *sbr_runtime_describe(const sbr_runtime *rt)
{
    json_t *root;
    char *text;

    if (!rt)
        return NULL;
    root = json_pack("{s:o, s:o, s:o}", "languages", languages_json(), "policies", policies_json(),
                     "features", features_json(&rt->features));
    text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    return text;
}

void sbr_runtime_close(sbr_runtime *rt)
{
    free(rt);
}
