/* What the container holds, and why so little:
 *
 *   root       empty and read-only; the plan's sources at their own paths, read-only unless the
 *              program may write to them on the host; /proc, /dev; the guest's directory
 *   namespaces all; init makes a second set in them
 *   user       the host id of the run, without capabilities.  An ordinary user's runtime can only
 *              map user 0, and the kernel then asks for CAP_SETFCAP to map it on to user 1000
 *   seccomp    calls that change the kernel or the machine are refused: a subset of every policy.
 *              The policy's own filter is init's, because it comes with notifications
 *   masks      none: the kernel lets init mount a procfs of its own only where nothing covers this
 *              one.  Init masks its own, and covers the container's with its root
 *   limits     the run's cgroup, which init enters, and rlimits: both as in every sandbox */
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "wire/guest_msg.h"

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct backend_mount *)a)->path, ((const struct backend_mount *)b)->path);
}

/* A source that is not there and may be missing is left out; init reports the others. */
static int add(struct backend_mount *mounts, size_t *n, const char *path, uint32_t flags,
               sbr_error *err)
{
    if (!path || (flags & OP_OPTIONAL && access(path, F_OK) < 0))
        return 0;
    if (!strcmp(path, "/"))
        return err_set(err, SBR_E_UNSUPPORTED, "backend",
                       "a container cannot show all of '/'; name a directory in it, or use the "
                       "native backend");
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(mounts[i].path, path)) {
            mounts[i].writable |= (flags & OP_WRITABLE) != 0;
            return 0;
        }
    if (*n == BACKEND_MAX_MOUNTS)
        return err_set(err, SBR_E_UNSUPPORTED, "backend",
                       "a container shows at most %d trees; use the native backend",
                       BACKEND_MAX_MOUNTS);
    mounts[(*n)++] = (struct backend_mount){ path, (flags & OP_WRITABLE) != 0 };
    return 0;
}

int backend_bundle_mounts(const struct plan *plan, struct backend_mount *mounts, size_t *ret_n,
                          sbr_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];
        bool is_source = op->kind == OP_BIND || op->kind == OP_COW || op->kind == OP_COPY;

        if (!is_source || op->flags & OP_PASSED)
            continue;
        if (add(mounts, &n, op->from, op->flags, err) < 0 ||
            add(mounts, &n, op->upper, OP_WRITABLE, err) < 0)
            return err->code;
    }
    qsort(mounts, n, sizeof(*mounts), compare);
    *ret_n = n;
    return 0;
}

static void put_mount(struct jsonw *j, const char *type, const char *source, const char *to,
                      const char *const *options)
{
    size_t n = 0;

    while (options[n])
        n++;
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "destination", to);
    jsonw_text(j, "type", type);
    jsonw_text(j, "source", source);
    jsonw_names(j, "options", options, n);
    jsonw_close(j, '}');
}

static void put_mounts(struct jsonw *j, const struct backend_mount *mounts, size_t n,
                       const char *share)
{
    static const char *const read_only[] = { "rbind", "ro", "nosuid", "nodev", NULL };
    static const char *const writable[] = { "rbind", "rw", "nosuid", "nodev", NULL };
    static const char *const proc[] = { "nosuid", "noexec", "nodev", NULL };
    static const char *const dev[] = { "nosuid", "noexec", "mode=755", "size=64k", NULL };

    jsonw_open(j, "mounts", '[');
    put_mount(j, "proc", "proc", "/proc", proc);
    put_mount(j, "tmpfs", "tmpfs", "/dev", dev);
    put_mount(j, "bind", share, GUEST_DIR, read_only);
    for (size_t i = 0; i < n; i++)
        put_mount(j, "bind", mounts[i].path, mounts[i].path,
                  mounts[i].writable ? writable : read_only);
    jsonw_close(j, ']');
}

static void put_process(struct jsonw *j, const struct ids *ids, bool rootless)
{
    static const char *const args[] = { GUEST_DIR "/" GUEST_IMAGE, GUEST_DIR "/" GUEST_SOCKET };
    static const char *const sets[] = { "bounding", "effective", "permitted", "inheritable" };
    static const char *const map_root[] = { "CAP_SETFCAP" };

    jsonw_open(j, "process", '{');
    jsonw_bool(j, "terminal", false);
    jsonw_open(j, "user", '{');
    jsonw_number(j, "uid", rootless ? 0 : ids->host_uid);
    jsonw_number(j, "gid", rootless ? 0 : ids->host_gid);
    jsonw_close(j, '}');
    jsonw_names(j, "args", args, ARRAY_LEN(args));
    jsonw_names(j, "env", NULL, 0);
    jsonw_text(j, "cwd", "/");
    jsonw_bool(j, "noNewPrivileges", true);
    jsonw_open(j, "capabilities", '{');
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        jsonw_names(j, sets[i], map_root, rootless ? 1 : 0);
    jsonw_close(j, '}');
    jsonw_close(j, '}');
}

static void put_map(struct jsonw *j, const char *key, uint32_t host)
{
    jsonw_open(j, key, '[');
    jsonw_open(j, NULL, '{');
    jsonw_number(j, "containerID", 0);
    jsonw_number(j, "hostID", host);
    jsonw_number(j, "size", 1);
    jsonw_close(j, '}');
    jsonw_close(j, ']');
}

void backend_bundle_put_seccomp(struct jsonw *j, const char *key)
{
    static const char *const refused[] = {
        "acct",
        "add_key",
        "bpf",
        "create_module",
        "delete_module",
        "finit_module",
        "init_module",
        "kexec_file_load",
        "kexec_load",
        "keyctl",
        "open_by_handle_at",
        "perf_event_open",
        "quotactl",
        "reboot",
        "request_key",
        "settimeofday",
        "swapoff",
        "swapon",
        "syslog",
        "userfaultfd",
        "vhangup",
    };

    jsonw_open(j, key, '{');
    jsonw_text(j, "defaultAction", "SCMP_ACT_ALLOW");
    jsonw_open(j, "syscalls", '[');
    jsonw_open(j, NULL, '{');
    jsonw_names(j, "names", refused, ARRAY_LEN(refused));
    jsonw_text(j, "action", "SCMP_ACT_ERRNO");
    jsonw_close(j, '}');
    jsonw_close(j, ']');
    jsonw_close(j, '}');
}

static void put_linux(struct jsonw *j, const struct ids *ids, bool rootless)
{
    static const char *const namespaces[] = { "mount", "pid", "network", "ipc", "uts", "cgroup" };

    jsonw_open(j, "linux", '{');
    jsonw_open(j, "namespaces", '[');
    for (size_t i = 0; i < ARRAY_LEN(namespaces) + rootless; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "type", i < ARRAY_LEN(namespaces) ? namespaces[i] : "user");
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
    if (rootless) {
        put_map(j, "uidMappings", ids->host_uid);
        put_map(j, "gidMappings", ids->host_gid);
    }
    jsonw_names(j, "maskedPaths", NULL, 0);
    jsonw_names(j, "readonlyPaths", NULL, 0);
    backend_bundle_put_seccomp(j, "seccomp");
    jsonw_close(j, '}');
}

char *backend_bundle_config(const struct plan *plan, const struct ids *ids,
                            const struct backend_mount *mounts, size_t n_mounts, const char *share,
                            bool rootless)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "ociVersion", "1.0.2");
    jsonw_open(&j, "root", '{');
    jsonw_text(&j, "path", "rootfs");
    jsonw_bool(&j, "readonly", true);
    jsonw_close(&j, '}');
    jsonw_text(&j, "hostname", plan->hostname);
    put_process(&j, ids, rootless);
    put_mounts(&j, mounts, n_mounts, share);
    put_linux(&j, ids, rootless);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}
