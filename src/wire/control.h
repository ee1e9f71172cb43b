/* What the supervisor and init send to each other.
 *
 * Orders travel over a SEQPACKET pair, and news comes back.  Reports stand in a page of memory that
 * both have mapped, so that reporting costs no wake-up; init's death makes the page final.  The
 * program has neither an end of the pair nor the page, because its exec closed the one and unmapped
 * the other.  Nothing here can be forged from inside. */
#ifndef WIRE_CONTROL_H
#define WIRE_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"

#define INIT_NAME "sandbox-run-init"

/* File descriptors that init finds open; all others are closed before its exec. */
enum init_fd {
    INIT_STDIN,
    INIT_STDOUT,
    INIT_STDERR,
    INIT_CONTROL,
    INIT_PLAN,
    INIT_REPORT,
    INIT_COLLECT, /* for writing; the report again when the plan collects nothing */
    INIT_LINK,    /* to sandbox-run-egress; the report again when there is none   */
    INIT_PUBLISH, /* to sandbox-run-publish; the same                             */
    N_INIT_FDS
};

/* Supervisor to init. */
enum init_order {
    ORDER_MAPPED = 1, /* the ids are mapped: go on                                               */
    ORDER_ENTER,      /* enter these cgroups, then run; carries their file descriptors           */
    ORDER_GO,         /* to a standby: run this; carries the plan, then files of the program     */
    ORDER_ADOPT,      /* to a standby: a zygote's worker joins; carries init's end of its socket */
    ORDER_MAKE,       /* to a factory: one more sandbox, struct fork_order                       */
    ORDER_TERMINATE,  /* ask all processes inside to end                                         */
    ORDER_SIGNAL,     /* send the signal `number` to the process group of `kernel`               */
    ORDER_KERNEL,     /* of a session: one more kernel; carries a plan and the kernel's channel  */
    ORDER_PAUSE,      /* stop all processes inside                                               */
    ORDER_RESUME,     /* let them go on                                                          */
    ORDER_COLLECT,    /* hand out what changed in the trees until now; the program goes on       */
    ORDER_KILL        /* end all processes inside, report, exit                                  */
};

struct init_message {
    uint32_t order;
    uint32_t uid, gid; /* with ORDER_MAPPED: the user to become without a user namespace */
    uint32_t number;   /* with ORDER_SIGNAL                                              */
    uint32_t kernel;   /* with ORDER_SIGNAL and ORDER_KERNEL; 0: the program             */
};

/* Kernels of other languages that a session can have beside its own. */
#define INIT_KERNELS 3

/* What a factory finds at two of these file descriptors. */
#define FACTORY_LIBRARY INIT_COLLECT /* for its zygote                 */
#define FACTORY_ZYGOTE INIT_LINK     /* the zygote's end of its socket */

/* ORDER_MAKE.  Carries the file descriptors of the new init's `enum init_fd` that `given` has a bit
 * for, in their order, then those of the trees and of the cgroups. */
struct fork_order {
    uint32_t order;
    uint32_t uid, gid; /* of the host: what the one user inside is mapped to */
    uint32_t given;
    uint32_t n_tasks; /* v1: `tasks` files of the cgroups to enter */
    uint32_t n_trees; /* of an image: trees that the engine cloned  */
    uint32_t group;   /* v2: 1, the cgroup to fork into            */
};

/* Init to supervisor, over the same pair. */
enum init_news_kind {
    NEWS_LISTENER = 1, /* the filter is loaded; carries its listener, of which init keeps no copy */
    NEWS_TERMINAL,     /* the program's terminal; carries the other side of it                    */
    NEWS_MOUNTED,      /* the root is built; only where plan_awaits_mounts()                      */
    NEWS_STANDBY,      /* confined; waits for ORDER_GO or, with a zygote, for ORDER_ADOPT first   */
    NEWS_READY,        /* from a factory: sandboxes can be ordered                                */
    NEWS_MADE          /* from a factory: the oldest ordered one is made; carries its pidfd       */
};

struct init_news {
    uint32_t kind;
};

/* How far init got. */
enum report_state {
    REPORT_STARTING = 0,
    REPORT_FAILED,     /* `error` names the step; nothing was run                */
    REPORT_RUNNING,    /* from ready_us on                                       */
    REPORT_COLLECTING, /* the program ended, see `end`; init hands out its files */
    REPORT_KILLED,     /* by order; everything but wait_status is filled         */
    REPORT_LIMIT,      /* supervision without cgroups found too much of `limit`  */
    REPORT_EXITED      /* the program ended; everything is filled                */
};

/* True when the page is complete and will not change. */
#define REPORT_IS_FINAL(state) ((state) == REPORT_FAILED || (state) >= REPORT_KILLED)

enum disk_full { DISK_BYTES_FULL = 1, DISK_INODES_FULL };

enum init_limit { INIT_LIMIT_MEMORY = 1, INIT_LIMIT_CPU, INIT_LIMIT_DISK, INIT_LIMIT_WALL };

/* How long a step of the set-up took. */
struct step_time {
    char name[20];
    uint32_t us;
};
#define REPORT_MAX_STEPS 16

struct init_report {
    _Atomic uint32_t state; /* written last */
    /* The supervisor writes these three: nothing is to be handed out; how long the program was
     * paused, in total, and since when it is now (0: it is not). */
    _Atomic uint32_t dropped;
    _Atomic uint64_t paused_us, paused_since_us;
    uint32_t end;              /* enum report_state, set before COLLECTING        */
    uint32_t limit;            /* enum init_limit                                 */
    _Atomic uint64_t progress; /* of handing out: while it grows, init is at work */
    _Atomic uint32_t pauses;   /* that init has carried out                       */
    _Atomic uint32_t signals;  /* the same for ORDER_SIGNAL */
    int32_t wait_status;
    uint32_t disk_full;       /* enum disk_full: what the scratch space ran out of       */
    uint32_t keeps_host_name; /* a container's filter refused to change it               */
    uint32_t shares_inodes;   /* the kernel refused a view: see view.h                   */
    uint32_t keeps_oom_score; /* the host's out-of-memory killer may choose others first */
    uint64_t ready_us;        /* CLOCK_MONOTONIC                                         */
    uint64_t ended_us;
    uint64_t cpu_user_us, cpu_system_us;
    uint64_t own_user_us, own_system_us; /* taken by handing out, not by the program            */
    uint64_t peak_memory_bytes;          /* largest process, or the largest sum when supervised */
    uint64_t peak_processes;             /* only when supervised                                */
    uint64_t context_switches;
    uint64_t io_read_bytes, io_write_bytes;
    uint64_t io_read_before, io_write_before; /* by init and a driver, before the program began */
    struct {
        _Atomic uint64_t memory_bytes, cpu_us, processes;
    } now; /* at the last sample; only when supervised: processes is not 0 */
    /* Of a session: the pid inside of each kernel, which leads a session of processes; 0: none. */
    _Atomic uint32_t kernels[1 + INIT_KERNELS];
    sbr_error error;
    struct step_time steps[REPORT_MAX_STEPS];
};

#define REPORT_SIZE 4096
_Static_assert(sizeof(struct init_report) <= REPORT_SIZE, "a report is one page");

#endif
