/* The engine: keeps sandboxes ready and leases them to whoever asks over its socket (wire/engine.h).
 *
 *   clients ──lease──> queue (who may run now) ──> kind (a template) ──> house (its nursery) ──> cells (sandboxes)
 *                                                                                              in nests (their groups)
 *
 * One thread, one loop, and nothing in it waits.  A run that finds its sandbox parked gets it at once; everything else,
 * such as making new ones and cleaning up, is done when no event is left (upkeep.c). */
#ifndef ENGINE_ENGINE_MAIN_H
#define ENGINE_ENGINE_MAIN_H

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

struct engine_config {
    uint32_t slots;      /* runs at once; 0: by the number of processors   */
    uint32_t queue;      /* further ones that wait                         */
    uint32_t per_caller; /* runs at once of one caller; 0: as many as slots */
    uint32_t park_min, park_max;
    uint64_t pool_bytes; /* that parked sandboxes may take; 0: a quarter of the memory */
    const char
        *warm; /* languages with commas, made ready at the start; NULL: those that most use */
    const char *preload; /* modules that zygotes load besides their own; NULL: none */
    /* Told once that runs are accepted and what was asked for is warm. */
    void (*on_ready)(void *context, const char *socket);
    void *context;
};

#define ENGINE_COMMAND "command" /* among languages: runs without one */
#define ENGINE_QUEUE 1024u
#define ENGINE_PARK_MIN 8u
#define ENGINE_PARK_MAX 128u

/* Serves until a signal says to end, and all that it made is gone.  The signals are blocked afterwards. */
int engine_serve(const struct engine_config *config, sbr_error *err) must_check;

/* Asks the engine that runs for its state, as JSON; the caller frees it.  SBR_E_NOT_FOUND: none runs. */
int engine_status(char **ret_json, sbr_error *err) must_check;

#endif
