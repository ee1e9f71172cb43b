#include "backend/backend.h"

#include <string.h>

#include "base/log.h"

/* Two walls are stronger than one.  runsc is not among them: no machine of ours has it. */
static const char *const order[] = { "oci:crun", "oci:runc", "podman", "docker", "native", NULL };

const char *const backend_known[] = { "oci:crun", "oci:runc", "oci:runsc", "podman",
                                      "docker",   "native",   NULL };

typedef int start_fn(const char *detail, struct sandbox *box, const struct plan *plan,
                     const struct sandbox_means *means, sbr_error *err);

static int start_native(const char *detail, struct sandbox *box, const struct plan *plan,
                        const struct sandbox_means *means, sbr_error *err)
{
    (void)detail;
    return sandbox_start(box, plan, means, err);
}

/* A name begins with one of these; the rest says which program. */
static const struct {
    const char *name;
    start_fn *start;
    const char *mechanism; /* as the result says it; NULL: none */
} kinds[] = {
    { "native", start_native, NULL },
    { "oci:crun", backend_oci_start, "container-by-crun" },
    { "oci:runc", backend_oci_start, "container-by-runc" },
    { "oci:", backend_oci_start, "container-by-oci-runtime" },
    { "docker", backend_engine_docker, "container-by-docker" },
    { "podman", backend_engine_podman, "container-by-podman" },
};

static int start_kind(const char *name, struct sandbox *box, struct plan *plan,
                      const struct sandbox_means *means, sbr_error *err)
{
    const char *colon = strchr(name, ':');

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strncmp(name, kinds[i].name, strlen(kinds[i].name)) != 0)
            continue;
        if (kinds[i].start(colon ? colon + 1 : "", box, plan, means, err) < 0)
            return err->code;
        if (kinds[i].mechanism)
            result_add_mechanism(&plan->isolation, kinds[i].mechanism);
        return 0;
    }
    return err_set(err, SBR_E_BUG, "backend", "there is no backend '%.100s'", name);
}

/* The next one may do what this one's own failure kept it from; other errors are the plan's. */
static int start_first(struct sandbox *box, struct plan *plan, const struct sandbox_means *means,
                       sbr_error *err)
{
    for (const char *const *name = order; *name; name++) {
        if (start_kind(*name, box, plan, means, err) == 0)
            return 0;
        if (strcmp(err->stage, "backend") != 0)
            break;
        log_info("backend", "%s", err->message);
    }
    return err->code;
}

int backend_start(const char *name, struct sandbox *box, struct plan *plan,
                  const struct sandbox_means *means, sbr_error *err)
{
    bool is_auto = name && !strcmp(name, "auto");

    if (!name || !strcmp(name, "native") || (is_auto && plan->run_dir))
        return start_native("", box, plan, means, err);
    if (plan->run_dir)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "this machine refuses user namespaces, which init needs in a container too; "
                       "`sandbox-run doctor` says how to get them");
    return is_auto ? start_first(box, plan, means, err) : start_kind(name, box, plan, means, err);
}
