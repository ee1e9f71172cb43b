/* The host uid and gid of a run.
 *
 * A run that root starts gets an id of its own from a range that nothing else uses, so that two
 * runs share no per-user counter and own none of each other's objects.  A run that an ordinary user
 * starts is that user on the host.  Host uid 0 is never mapped. */
#ifndef SANDBOX_IDS_H
#define SANDBOX_IDS_H

#include "base/err.h"
#include "plan/features.h"
#include "plan/plan.h"
#include "sandbox/spawn.h"

#define IDS_VARIABLE "SANDBOX_RUN_IDS" /* FIRST:COUNT */
#define IDS_FIRST 1900000000u          /* above the ranges of subuid, nspawn and dynamic users */
#define IDS_COUNT 65536u
#define IDS_FIRST_OF_FEW 61184u
#define IDS_COUNT_OF_FEW 4336u

struct ids {
    uint32_t host_uid, host_gid;
    int lock_fd; /* holds the id while it is open (id_locks.h); -1: nothing to hold */
};

/* Finds out whether ids can be taken. */
void ids_probe(struct features *features);

int ids_take(struct ids *ids, const struct features *features, sbr_error *err) must_check;
void ids_release(struct ids *ids);

/* Writes the maps of a process in a new user namespace. */
int ids_map(const struct ids *ids, const struct plan *plan, const struct process *init,
            sbr_error *err) must_check;

/* The same for a factory, whose sandboxes have ids of their own: maps the whole range to itself. */
int ids_map_factory(const struct ids *ids, const struct process *init, sbr_error *err) must_check;

struct id_pair {
    uint32_t uid, gid;
};

/* For idmapped mounts: a namespace that maps one user and one group to others, and all the rest to
 * themselves, so that a directory's owner can delete their files.  As root.  Its fd, or -1. */
int ids_namespace(const struct process *holder, struct id_pair inside, struct id_pair host);

#endif
