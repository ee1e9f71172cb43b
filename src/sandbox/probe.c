#include "sandbox/sandbox.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "confine/confiner.h"

#define COW_VARIABLE "SANDBOX_RUN_COW"

static const struct confiner *const probed[] = {
    &namespaces_confiner,
    &mounts_confiner,
    &landlock_confiner,
    &seccomp_confiner,
};

static void probe_machine(struct machine *machine)
{
    struct sysinfo info;
    cpu_set_t cpus;

    if (sysinfo(&info) == 0)
        machine->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
    CPU_ZERO(&cpus);
    machine->cpus = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (uint64_t)CPU_COUNT(&cpus) : 1;
}

/* Before Linux 6.6 a tmpfs has no user xattrs, which overlayfs needs in its upper directory.  Only
 * a try shows whether the first kind works; on failure the job takes the next. */
static enum cow_kind probe_cow(void)
{
    const char *wanted = getenv(COW_VARIABLE);
    unsigned long major, minor;
    struct utsname name;
    char *end;

    for (unsigned int i = 0; wanted && i < N_COW_KINDS; i++)
        if (!strcmp(wanted, plan_cow_kind_name((enum cow_kind)i)))
            return (enum cow_kind)i;
    if (wanted && *wanted)
        log_info("probe", COW_VARIABLE "='%.20s' is none of overlay, disk and copy", wanted);
    if (uname(&name) < 0)
        return COW_OVERLAY;
    major = strtoul(name.release, &end, 10);
    minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 6 || (major == 6 && minor >= 6) ? COW_OVERLAY : COW_DISK;
}

void probe_features(struct features *features)
{
    memset(features, 0, sizeof(*features));
    for (size_t i = 0; i < ARRAY_LEN(probed); i++)
        probed[i]->probe(features);
    cgroup_probe(&features->cgroup);
    ids_probe(features);
    probe_machine(&features->machine);
    features->cow = probe_cow();
}

void probe_by_trial(struct features *features)
{
    if (!features->user_namespaces || namespaces_work())
        return;
    features->user_namespaces = false;
    /* the probe of namespaces has ruled out filters and profiles */
    features->barrier = BARRIER_CHROOT;
}
