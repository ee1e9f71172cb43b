/* The engine: keeps sandboxes ready and leases them to clients over its socket (wire/engine.h).
 *
 *   clients --lease--> queue (admits runs) --> pool (one blueprint) --> factory --> standbys
 *                                                                       (each in a cgroup slot)
 *
 * One thread, one loop, and nothing in it waits.  A run whose sandbox is ready gets it at once;
 * everything else, such as making new ones and cleaning up, happens when no event is left
 * (maintenance.c). */
#ifndef ENGINE_ENGINE_MAIN_H
#define ENGINE_ENGINE_MAIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/job.h"

/* A program that is kept running beside the engine and ends with it. */
struct engine_attendant {
    const char *name; /* for people: "the HTTP gateway" */
    /* Starts it, and returns its pid.  It writes one byte to `ready_fd` when it serves. */
    pid_t (*start)(void *context, int ready_fd, sbr_error *err);
    /* It has ended, as the text says, and is started again after the pause. */
    void (*report)(void *context, const char *how, uint64_t pause_ms);
};

struct engine_config {
    uint32_t slots;      /* runs at once; 0: by the number of CPUs */
    uint32_t queue;      /* further runs that wait */
    uint32_t per_caller; /* runs at once of one caller; 0: as many as slots */
    uint32_t share;      /* percent of all that one of several callers may hold; 0: the preset */
    uint32_t park_min, park_max;
    uint64_t run_bytes;  /* that all runs may use together; 0: nine tenths of the memory */
    uint64_t pool_bytes; /* for ready sandboxes; 0: a quarter of the memory */
    const char *warm;    /* languages with commas, to prewarm; NULL: the most common ones */
    const char *preload; /* modules that zygotes load besides their own; NULL: none */
    const struct engine_attendant *attendant; /* NULL: none */
    /* Called once, when runs are accepted, the languages are warm and the attendant serves.
     * `why_cold` is NULL, or why this machine lets no sandbox be kept ready. */
    void (*on_ready)(void *context, const char *socket, const char *why_cold);
    /* A signal asked it to end; `running` runs may finish first. */
    void (*on_stop)(void *context, uint32_t running);
    void *context;
};

#define ENGINE_COMMAND "command" /* as a language: runs without one */
#define ENGINE_QUEUE 1024u
#define ENGINE_SHARE 50u
#define ENGINE_PARK_MIN 8u
#define ENGINE_PARK_MAX 128u

/* Serves until a signal ends it, and everything that it made is gone.  The signals stay blocked. */
int engine_serve(const struct engine_config *config, sbr_error *err) must_check;

/* The state of the running engine as JSON; the caller frees it.  SBR_E_NOT_FOUND: none runs. */
int engine_status(char **ret_json, sbr_error *err) must_check;

/* Asks the running engine to end, and waits until it has.  SBR_E_NOT_FOUND: none runs. */
int engine_stop(sbr_error *err) must_check;

#endif
