/* plan_for HOST.json REQUEST.json [HOST.json REQUEST.json]...: the plan that each request gets on
 * its machine.
 *
 * The planner makes no system call, so a machine is a file: see hosts/.  Prints for each pair the
 * plan, or the refusal, as JSON.  Exit status 2 when the files themselves are no use. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan_trees.h"
#include "base/fd.h"
#include "base/scope.h"
#include "plan/planner.h"

#define MAX_FILE (1u << 20)

static const char *const cgroup_kinds[] = { "none", "v1", "v2" };
static const char *const cow_kinds[N_COW_KINDS] = { "overlay", "disk", "copy" };
static const char *const controllers[N_CG] = { "memory", "pids", "cpuacct", "cpu" };

static int bad_host(const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "host", "the description of the machine has %s", what);
}

static int index_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (!strcmp(name, names[i]))
            return (int)i;
    return -1;
}

static int read_barrier(const char *name, enum userns_barrier *ret, sbr_error *err)
{
    for (int i = 0; i < N_BARRIERS; i++) {
        *ret = (enum userns_barrier)i;
        if (!strcmp(name, plan_barrier_name(*ret)))
            return 0;
    }
    return bad_host("an unknown barrier", err);
}

static int read_cgroup(const json_t *host, struct cgroup_features *cgroup, sbr_error *err)
{
    const json_t *object = json_object_get(host, "cgroup"), *name;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    int found = index_of(kind, cgroup_kinds, ARRAY_LEN(cgroup_kinds));
    size_t i;

    if (found < 0)
        return bad_host("no kind of cgroup", err);
    cgroup->kind = (enum cgroup_kind)found;
    if (!json_is_string(json_object_get(object, "need")))
        return bad_host("no word on what its cgroup needs", err);
    json_array_foreach(json_object_get(object, "controllers"), i, name) {
        found = index_of(json_string_value(name), controllers, N_CG);
        if (found < 0)
            return bad_host("an unknown controller", err);
        cgroup->usable |= 1u << found;
    }
    return 0;
}

/* "usr/bin" is a link, true a directory, and what is not named is absent. */
static int read_root(const json_t *host, struct root_entry *root, sbr_error *err)
{
    const json_t *object = json_object_get(host, "root");

    for (unsigned int i = 0; i < N_ROOT_NAMES; i++) {
        const json_t *entry = json_object_get(object, root_names[i]);
        const char *target = json_string_value(entry);

        if (target && strlen(target) >= sizeof(root[i].target))
            return bad_host("a long link", err);
        if (target)
            memcpy(root[i].target, target, strlen(target) + 1);
        root[i].form = target ? ROOT_LINK : json_is_true(entry) ? ROOT_DIRECTORY : ROOT_ABSENT;
    }
    return 0;
}

static int read_host(const char *text, size_t len, struct features *features, sbr_error *err)
{
    json_t *host = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    int namespaces = 0, seccomp = 0, privileged = 0, host_root = 0, mounts = 0, proc = 0, r;
    json_int_t memory = 0, cpus = 0, uid = 0;
    json_t *cgroup, *root;
    const char *about, *barrier = "", *cow = cow_kinds[COW_OVERLAY];

    *features = (struct features){ 0 };
    r = json_unpack(
        host, "{s:s, s:I, s:b, s:b, s:b, s:b, s:s, s:b, s:b, s:i, s:o, s:o, s:I, s:I, s?:s !}",
        "about", &about, "uid", &uid, "privileged", &privileged, "is_host_root", &host_root,
        "mounts", &mounts, "user_namespaces", &namespaces, "barrier", &barrier, "proc", &proc,
        "seccomp", &seccomp, "landlock_abi", &features->landlock_abi, "cgroup", &cgroup, "root",
        &root, "memory_bytes", &memory, "cpus", &cpus, "cow", &cow);
    if (r == 0 && index_of(cow, cow_kinds, N_COW_KINDS) < 0)
        r = -1;
    if (r != 0)
        r = bad_host("a field too many, too few or of another type", err);
    else
        r = read_barrier(barrier, &features->barrier, err);
    features->cow = (enum cow_kind)index_of(cow, cow_kinds, N_COW_KINDS);
    features->privileged = privileged;
    features->is_host_root = host_root;
    features->mounts = mounts;
    features->proc = proc;
    features->uid = features->gid = (uint32_t)uid;
    features->user_namespaces = namespaces;
    features->seccomp = seccomp;
    features->machine =
        (struct machine){ .memory_bytes = (uint64_t)memory, .cpus = (uint64_t)cpus };
    if (r == 0)
        r = read_cgroup(host, &features->cgroup, err);
    if (r == 0)
        r = read_root(host, features->root, err);
    json_decref(host);
    return r;
}

static int read_file(const char *path, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set_errno(err, "read", "cannot open '%s'", path);
    return fd_read_text(fd, MAX_FILE, ret, ret_len, err);
}

static int print_plan(const sbr_request *req, const struct features *features, sbr_error *err)
{
    struct plan_input in = { .request = req,
                             .policy = policy_find(req->policy),
                             .run_dir = "/tmp/sandbox-run-ID",
                             .features = features };
    struct toolchain tools = { .home = "/usr" };
    struct plan_tree trees[PLAN_MAX_TREES];
    struct plan *plan = NULL;
    scoped_free char *json = NULL;

    if (req->language) {
        in.language = language_find(req->language);
        if (!in.language)
            return err_set(err, SBR_E_NOT_FOUND, "language", "there is no '%s'", req->language);
        snprintf(tools.binary, sizeof(tools.binary), "%s", in.language->binaries.at[0]);
        in.toolchain = &tools;
        if (in.language->compile.run.n)
            in.layers[LAYER_BUILD] = "/store/artifacts/KEY/tree";
        if (in.language->prepare.run.n)
            in.layers[LAYER_PREPARED] = "/store/prepared/KEY/tree";
    }
    if (!in.policy)
        return err_set(err, SBR_E_NOT_FOUND, "policy", "there is no '%s'", req->policy);
    if (req->workdir && features->user_namespaces && strcmp(req->workdir, INSIDE_WORK) != 0)
        in.new_workdir = req->workdir; /* as a job has it: no machine here has the directory */
    plan_trees_fill(&in, trees);
    json =
        planner_make(&in, &plan, err) == 0 ? plan_to_json(plan, true) : result_error_to_json(err);
    plan_free(plan);
    printf("%s\n", json ? json : "");
    return 0;
}

static int plan_for(const char *host_path, const char *request_path, sbr_error *err)
{
    scoped_free char *host = NULL, *request = NULL;
    size_t host_len, request_len;
    struct features features;
    sbr_request *req;
    int r;

    if (read_file(host_path, &host, &host_len, err) < 0 ||
        read_file(request_path, &request, &request_len, err) < 0 ||
        read_host(host, host_len, &features, err) < 0 ||
        request_from_json(request, request_len, &req, err) < 0)
        return err->code;
    r = print_plan(req, &features, err);
    request_free(req);
    return r;
}

int main(int argc, char **argv)
{
    sbr_error err;

    if (argc < 3 || argc % 2 == 0) {
        fprintf(stderr, "usage: plan_for HOST.json REQUEST.json [HOST.json REQUEST.json]...\n");
        return 2;
    }
    for (int i = 1; i < argc; i += 2)
        if (plan_for(argv[i], argv[i + 1], &err) < 0) {
            fprintf(stderr, "plan_for: %s, %s: %s\n", argv[i], argv[i + 1], err.message);
            return 2;
        }
    return 0;
}
