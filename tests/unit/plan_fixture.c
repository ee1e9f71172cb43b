#include "plan_fixture.h"

#include "../plan_trees.h"
#include "base/text.h"
#include "unit.h"

const struct features complete_machine = {
    .user_namespaces = true,
    .privileged = true,
    .mounts = true,
    .proc = true,
    .seccomp = true,
    .landlock_abi = 3,
    .cgroup = { .kind = CGROUP_V2, .usable = ALL_CONTROLLERS, .parent = { "/sys/fs/cgroup" } },
    .root = { [ROOT_BIN] = { ROOT_LINK, "usr/bin" },
              [ROOT_LIB] = { ROOT_LINK, "usr/lib" },
              [ROOT_LIB64] = { ROOT_LINK, "usr/lib64" },
              [ROOT_SBIN] = { ROOT_DIRECTORY, "" } },
    .machine = { .memory_bytes = 16 * GIB, .cpus = 8 },
};

static const struct toolchain system_python = { .binary = "/usr/bin/python3", .home = "/usr" };

void plan_case_init(struct plan_case *c)
{
    static const char code[] = "print(1)";
    sbr_error err;

    *c = (struct plan_case){ .features = complete_machine };
    assert_int_equal(request_new("python", NULL, &c->request, &err), 0);
    assert_int_equal(request_set_code(c->request, code, strlen(code), &err), 0);
    c->in = (struct plan_input){ .request = c->request,
                                 .language = language_find("python"),
                                 .toolchain = &system_python,
                                 .policy = policy_find("default"),
                                 .features = &c->features };
}

void plan_case_done(struct plan_case *c)
{
    request_free(c->request);
}

struct plan *plan_case_try(struct plan_case *c, sbr_error *err)
{
    struct plan *plan = NULL;

    if (!c->in.trees || c->in.trees == c->trees) /* a test may have trees of its own */
        plan_trees_fill(&c->in, c->trees);
    for (size_t i = 0; i < c->in.n_trees; i++)
        c->trees[i].plain = c->plain;
    return planner_make(&c->in, &plan, err) == 0 ? plan : NULL;
}

struct plan *plan_case_make(struct plan_case *c)
{
    sbr_error err = { 0 };
    struct plan *plan = plan_case_try(c, &err);

    if (!plan)
        fail_msg("no plan: %s", err.message);
    return plan;
}

const struct plan_op *plan_find_op(const struct plan *plan, const char *to)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (!strcmp(plan->ops[i].to, to))
            return &plan->ops[i];
    return NULL;
}

static bool names_have(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

bool isolation_has(const struct isolation *isolation, const char *mechanism)
{
    return names_have(isolation->mechanisms, isolation->n_mechanisms, mechanism);
}

bool isolation_lacks(const struct isolation *isolation, const char *missing)
{
    return names_have(isolation->missing, isolation->n_missing, missing);
}
