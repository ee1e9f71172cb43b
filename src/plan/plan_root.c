#include "plan/plan_root.h"

#include <string.h>

#include "plan/plan_image.h"

#define DEVICE_NUMBER(major, minor) ((uint64_t)(major) << 32 | (minor))

/* clang-format off */
static const struct plan_op etc_ops[] = {
    { .kind = OP_DIR,  .to = "etc", .mode = 0755 },
    { .kind = OP_FILE, .to = "etc/passwd", .mode = 0444, TEXT_FILE(
        "root:x:0:0:root:/:/usr/sbin/nologin\n"
        "sandbox:x:1000:1000:sandbox:/work:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n") },
    { .kind = OP_FILE, .to = "etc/group", .mode = 0444, TEXT_FILE(
        "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n") },
    { .kind = OP_FILE, .to = "etc/hosts", .mode = 0444, TEXT_FILE(
        "127.0.0.1 localhost sandbox\n::1 localhost\n") },
};

static const struct plan_op dev_ops[] = {
    { .kind = OP_DIR,     .to = "dev", .mode = 0755 },
    { .kind = OP_DEVICE, .from = "/dev/null", .to = "dev/null", .device = DEVICE_NUMBER(1, 3) },
    { .kind = OP_DEVICE, .from = "/dev/zero", .to = "dev/zero", .device = DEVICE_NUMBER(1, 5) },
    { .kind = OP_DEVICE, .from = "/dev/full", .to = "dev/full", .device = DEVICE_NUMBER(1, 7) },
    { .kind = OP_DEVICE, .from = "/dev/random", .to = "dev/random", .device = DEVICE_NUMBER(1, 8) },
    { .kind = OP_DEVICE, .from = "/dev/urandom", .to = "dev/urandom",
      .device = DEVICE_NUMBER(1, 9) },
    { .kind = OP_DEVPTS,  .to = "dev/pts" },
    { .kind = OP_SYMLINK, .from = "pts/ptmx",        .to = "dev/ptmx"   },
    { .kind = OP_SYMLINK, .from = "/proc/self/fd",   .to = "dev/fd"     },
    { .kind = OP_SYMLINK, .from = "/proc/self/fd/0", .to = "dev/stdin"  },
    { .kind = OP_SYMLINK, .from = "/proc/self/fd/1", .to = "dev/stdout" },
    { .kind = OP_SYMLINK, .from = "/proc/self/fd/2", .to = "dev/stderr" },
};

static const struct plan_op scratch_ops[] = {
    { .kind = OP_SCRATCH, .to = "work",    .mode = 0755  },
    { .kind = OP_SCRATCH, .to = "tmp",     .mode = 01777 },
    { .kind = OP_SCRATCH, .to = "dev/shm", .mode = 01777 },
};

#define EMPTY_FILE "dev/.nothing"
#define EMPTY_DIR "dev/.empty"

/* Files of procfs that reveal the host and that no language runtime needs.  All of procfs is
 * unwritable: the mount is read-only. */
static const struct {
    const char *path;
    bool directory;
} proc_masks[] = {
    { "proc/cmdline", false }, /* the kernel's, which may contain secrets */
    { "proc/acpi", true },         { "proc/asound", true },       { "proc/interrupts", false },
    { "proc/kallsyms", false },    { "proc/kcore", false },       { "proc/key-users", false },
    { "proc/keys", false },        { "proc/kpagecgroup", false }, { "proc/kpagecount", false },
    { "proc/kpageflags", false },  { "proc/latency_stats", false }, { "proc/sched_debug", false },
    { "proc/scsi", true },         { "proc/timer_list", false },  { "proc/timer_stats", false },
    { "proc/config.gz", false },   { "proc/pressure", true },
    { "proc/locks", false }, /* those of open file descriptions: of every process, with its files */
    { "proc/sys/kernel/random/boot_id", false }, /* the same in all runs and on the host */
};
/* clang-format on */

static int add_ops(struct plan *plan, const struct plan_op *ops, size_t n, sbr_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (plan_add_op(plan, ops[i], err) < 0)
            return err->code;
    return 0;
}

/* /usr, and the top-level names that are links into it or directories. */
static int plan_system(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    struct plan_op usr = {
        .kind = OP_BIND, .from = "/usr", .to = "usr", .flags = OP_VIEW | OP_DIRECTORY
    };

    if (plan_add_op(plan, usr, err) < 0)
        return err->code;
    for (unsigned int i = 0; i < N_ROOT_NAMES; i++) {
        const struct root_entry *entry = &in->features->root[i];
        struct plan_op op = { .to = root_names[i] };

        if (entry->form == ROOT_ABSENT)
            continue;
        op.kind = entry->form == ROOT_LINK ? OP_SYMLINK : OP_BIND;
        op.flags = entry->form == ROOT_LINK ? 0 : OP_VIEW | OP_DIRECTORY;
        op.from = entry->form == ROOT_LINK ? entry->target : plan_printf(plan, "/%s", op.to);
        if (!op.from)
            return err_set_oom(err, "plan");
        if (plan_add_op(plan, op, err) < 0)
            return err->code;
    }
    return 0;
}

static int plan_masks(struct plan *plan, sbr_error *err)
{
    static const struct plan_op empties[] = {
        { .kind = OP_EMPTY, .to = EMPTY_FILE },
        { .kind = OP_EMPTY, .to = EMPTY_DIR, .flags = OP_DIRECTORY },
    };

    if (add_ops(plan, empties, ARRAY_LEN(empties), err) < 0)
        return err->code;
    for (size_t i = 0; i < ARRAY_LEN(proc_masks); i++) {
        struct plan_op mask = { .kind = OP_MASK,
                                .flags = OP_OPTIONAL,
                                .from = proc_masks[i].directory ? EMPTY_DIR : EMPTY_FILE,
                                .to = proc_masks[i].path };

        if (plan_add_op(plan, mask, err) < 0)
            return err->code;
    }
    return 0;
}

static int plan_proc(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    bool only_processes = in->policy->proc == POLICY_PROC_PID;
    struct plan_op proc = { .kind = OP_PROC,
                            .to = "proc",
                            .flags = only_processes ? OP_PID_ONLY : 0 };

    if (plan_add_op(plan, proc, err) < 0)
        return err->code;
    if (only_processes || plan_list_has(in->test_without, "masks"))
        return 0;
    return plan_masks(plan, err);
}

/* The kernel gives each opener of this device its own terminal, so it is no way to others. */
static int plan_own_tty(struct plan *plan, sbr_error *err)
{
    static const struct plan_op tty = { .kind = OP_DEVICE,
                                        .flags = OP_OPTIONAL,
                                        .from = "/dev/tty",
                                        .to = "dev/tty",
                                        .device = DEVICE_NUMBER(5, 0) };

    return plan->tty.rows ? plan_add_op(plan, tty, err) : 0;
}

static int plan_host_root(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    if ((in->n_commands ? plan_commands : plan_system)(plan, in, err) < 0 ||
        add_ops(plan, etc_ops, ARRAY_LEN(etc_ops), err) < 0 || plan_etc(plan, err) < 0)
        return err->code;
    return plan_network_root(plan, in, err);
}

static bool has_top(const struct plan *plan, const char *name, size_t len)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].to && !strncmp(plan->ops[i].to, name, len) &&
            (!plan->ops[i].to[len] || plan->ops[i].to[len] == '/'))
            return true;
    return false;
}

/* The first name of a work directory of any name: in the root itself the program makes nothing. */
static int add_top_of_workdir(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const char *path = in->new_workdir;
    size_t len = path ? strcspn(path + 1, "/") : 0;
    const char *top = len ? plan_printf(plan, "%.*s", (int)len + 1, path) : NULL;

    if (in->image || !len)
        return 0;
    if (!top)
        return err_set_oom(err, "plan");
    if (has_top(plan, top + 1, len))
        return 0;
    if (plan_add_op(plan, (struct plan_op){ .kind = OP_SCRATCH, .to = top + 1, .mode = 0755 },
                    err) < 0)
        return err->code;
    return plan_image_writable(plan, top, err);
}

int plan_root(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    size_t has_work = plan_tree_at_work(in) ? 1 : 0; /* replaces the first one */

    plan->scratch_bytes = plan->limits.value[SBR_DISK_BYTES];
    plan->scratch_inodes = plan->limits.value[SBR_INODES];
    if ((in->image ? plan_image_root : plan_host_root)(plan, in, err) < 0 ||
        add_ops(plan, dev_ops, ARRAY_LEN(dev_ops), err) < 0 || plan_own_tty(plan, err) < 0 ||
        plan_proc(plan, in, err) < 0 ||
        add_ops(plan, scratch_ops + has_work, ARRAY_LEN(scratch_ops) - has_work, err) < 0)
        return err->code;
    if (plan_trees(plan, in, false, err) < 0)
        return err->code;
    return add_top_of_workdir(plan, in, err);
}
