#include "sandbox/probe.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/confiner.h"
#include "sandbox/ids.h"

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

void probe_features(struct features *features)
{
    memset(features, 0, sizeof(*features));
    for (size_t i = 0; i < ARRAY_LEN(probed); i++)
        probed[i]->probe(features);
    cgroup_probe(&features->cgroup);
    ids_probe(features);
    probe_machine(&features->machine);
}

void probe_by_trial(struct features *features)
{
    if (!features->user_namespaces || namespaces_work())
        return;
    features->user_namespaces = false;
    features->barrier = BARRIER_REFUSED;
}
