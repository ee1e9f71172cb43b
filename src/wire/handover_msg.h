/* Hands a standby over from the engine to the client that runs a program in it: this message and
 * the file descriptors that `given` names. */
#ifndef WIRE_HANDOVER_MSG_H
#define WIRE_HANDOVER_MSG_H

#include <stdint.h>

#define CGROUP_NAME_MAX 64

struct cgroup_usage {
    uint64_t cpu_user_us, cpu_system_us;
    uint64_t peak_memory_bytes;
    uint64_t peak_processes; /* without init */
    uint64_t oom_kills;
    uint64_t refused_forks;
};

struct handover_msg {
    int32_t init_pid; /* in the host's pid namespace */
    uint32_t host_uid, host_gid;
    uint32_t cgroup_kind, cgroup_controllers;
    uint32_t given; /* bits: which file descriptors follow, in the order of handover.c */
    struct cgroup_usage before; /* usage before the program started */
    char cgroup_name[CGROUP_NAME_MAX];
};

#endif
