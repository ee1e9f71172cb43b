/* What supervisor and init say to each other: fixed-size messages over a SEQPACKET pair.
 * The program never holds an end of it, so nothing that travels here can be forged from inside. */
#ifndef SANDBOX_PROTOCOL_H
#define SANDBOX_PROTOCOL_H

#include <stdint.h>

#include "base/err.h"

/* Descriptors that init finds open; everything else is closed before it is executed. */
enum init_fd { INIT_STDIN, INIT_STDOUT, INIT_STDERR, INIT_CONTROL, INIT_PLAN, N_INIT_FDS };

/* Supervisor to init. */
enum init_order {
    ORDER_MAPPED = 1, /* your ids are mapped: go on                            */
    ORDER_ENTER,      /* enter these cgroups, then run; carries descriptors     */
    ORDER_TERMINATE   /* ask everything inside to end                          */
};

struct init_message {
    uint32_t order;
};

/* Init to supervisor. */
enum init_event_kind {
    EVENT_READY = 1, /* the program's first instruction is next    */
    EVENT_FAILED,    /* `error` says which step; nothing was run   */
    EVENT_LIMIT,     /* supervision without cgroups found too much */
    EVENT_EXITED     /* the program ended; the rest is filled      */
};

enum init_limit { INIT_LIMIT_MEMORY = 1, INIT_LIMIT_CPU };

struct init_event {
    uint32_t kind;
    uint32_t limit; /* enum init_limit */
    int32_t wait_status;
    uint32_t disk_full; /* no byte or no inode is left in the scratch space */
    uint64_t when_us;   /* CLOCK_MONOTONIC */
    uint64_t cpu_user_us, cpu_system_us;
    uint64_t peak_memory_bytes; /* largest process, or the largest sum when supervised */
    uint64_t peak_processes;    /* only when supervised */
    uint64_t context_switches;
    uint64_t io_read_bytes, io_write_bytes;
    sbr_error error;
};

#define INIT_NAME "sandbox-run-init"

#endif
