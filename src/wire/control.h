/* What supervisor and init say to each other.
 *
 * Orders travel over a SEQPACKET pair, and one piece of news comes back.  Reports stand in a page of
 * memory that both have mapped, so that telling costs no wake-up; init's death says that the page is
 * final.  The program holds neither an end of the pair nor the page: its exec gave it a memory of its
 * own.  Nothing here can be forged from inside. */
#ifndef WIRE_CONTROL_H
#define WIRE_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"

#define INIT_NAME "sandbox-run-init"

/* Descriptors that init finds open; everything else is closed before it is executed. */
enum init_fd {
    INIT_STDIN,
    INIT_STDOUT,
    INIT_STDERR,
    INIT_CONTROL,
    INIT_PLAN,
    INIT_REPORT,
    INIT_COLLECT, /* to write to; the report again when the plan collects nothing */
    INIT_LINK,    /* to sandbox-run-egress; the report again when there is none   */
    N_INIT_FDS
};

/* Supervisor to init. */
enum init_order {
    ORDER_MAPPED = 1, /* your ids are mapped: go on                        */
    ORDER_ENTER,      /* enter these cgroups, then run; carries descriptors */
    ORDER_GO,         /* parked: run this; carries the plan, then files of the program     */
    ORDER_ADOPT,      /* parked: a driver of a zygote's joins you; carries your end of its socket */
    ORDER_MAKE,       /* nursery: one more sandbox, struct fork_order                   */
    ORDER_TERMINATE,  /* ask everything inside to end                      */
    ORDER_KILL        /* end everything inside, report, exit               */
};

struct init_message {
    uint32_t order;
    uint32_t uid, gid; /* with ORDER_MAPPED: whom to become where no user namespace maps ids */
};

/* A nursery finds other things at two of its descriptors. */
#define FACTORY_LIBRARY INIT_COLLECT /* for its zygote                */
#define FACTORY_ZYGOTE INIT_LINK     /* the zygote's end of its socket */

/* ORDER_MAKE, with descriptors: those of the new init's `enum init_fd` that `given` has a bit for, in their order, then the
 * control groups. */
struct fork_order {
    uint32_t order;
    uint32_t uid, gid; /* of the host: whom the one user inside is */
    uint32_t given;
    uint32_t n_tasks; /* v1: `tasks` of the groups to enter */
    uint32_t group;   /* v2: 1, the group to be born in      */
};

/* Init to supervisor, over the same pair. */
enum init_news_kind {
    NEWS_LISTENER = 1, /* the filter holds; carries its listener, which init keeps no copy of */
    NEWS_MOUNTED,      /* the root is built; only where plan_awaits_mounts()               */
    NEWS_STANDBY, /* confined and waiting: for ORDER_GO, or, with a zygote, for ORDER_ADOPT first */
    NEWS_READY,   /* nursery: sandboxes can be ordered                                   */
    NEWS_MADE     /* nursery: the oldest one ordered was born; carries its pidfd          */
};

struct init_news {
    uint32_t kind;
};

/* How far init came. */
enum report_state {
    REPORT_STARTING = 0,
    REPORT_FAILED,     /* `error` says which step; nothing was run                 */
    REPORT_RUNNING,    /* since ready_us                                           */
    REPORT_COLLECTING, /* the program ended, see `end`; what it left is handed out */
    REPORT_KILLED,     /* as ordered; everything but wait_status is filled          */
    REPORT_LIMIT,      /* supervision without cgroups found too much of `limit`     */
    REPORT_EXITED      /* the program ended; everything is filled                   */
};

/* The page says how it ended, and nothing will change it. */
#define REPORT_IS_FINAL(state) ((state) == REPORT_FAILED || (state) >= REPORT_KILLED)

enum disk_full { DISK_BYTES_FULL = 1, DISK_INODES_FULL };

enum init_limit { INIT_LIMIT_MEMORY = 1, INIT_LIMIT_CPU, INIT_LIMIT_DISK };

/* How long a step of the set-up took. */
struct step_time {
    char name[20];
    uint32_t us;
};
#define REPORT_MAX_STEPS 16

struct init_report {
    _Atomic uint32_t state; /* written last */
    /* The one thing that the supervisor writes: nobody wants what the program left. */
    _Atomic uint32_t dropped;
    uint32_t end;              /* enum report_state, known before COLLECTING           */
    uint32_t limit;            /* enum init_limit                                      */
    _Atomic uint64_t progress; /* of handing out: as long as it grows, init is at work */
    int32_t wait_status;
    uint32_t disk_full;       /* enum disk_full: what is used up of the scratch space */
    uint32_t keeps_host_name; /* a container's filter did not let it be changed */
    uint32_t shares_inodes;   /* the kernel refused a view: see view.h           */
    uint32_t keeps_oom_score; /* the host's out-of-memory killer may choose others first */
    uint32_t egress_way;      /* enum egress_way, where the plan has a way out  */
    uint64_t ready_us;        /* CLOCK_MONOTONIC */
    uint64_t ended_us;
    uint64_t cpu_user_us, cpu_system_us;
    uint64_t own_user_us, own_system_us; /* that handing out took, not the program */
    uint64_t peak_memory_bytes;          /* largest process, or the largest sum when supervised */
    uint64_t peak_processes;             /* only when supervised */
    uint64_t context_switches;
    uint64_t io_read_bytes, io_write_bytes;
    sbr_error error;
    struct step_time steps[REPORT_MAX_STEPS];
};

#define REPORT_SIZE 4096
_Static_assert(sizeof(struct init_report) <= REPORT_SIZE, "a report is one page");

#endif
