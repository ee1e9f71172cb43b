/* The host uid and gid of a run.
 *
 * A run that root starts gets an id of its own from a range that nothing else uses, so that two
 * runs share no per-user counter and own none of each other's objects.  A run that an ordinary user
 * starts is that user on the host.  Host uid 0 is never mapped. */
#ifndef SANDBOX_IDS_H
#define SANDBOX_IDS_H

#include <stdbool.h>
#include <stdint.h>

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

/* The ids of root's runs that are in use: locks on the bytes of an empty file that only root can
 * open.
 *
 * A lock belongs to the open file, not to a process: it lasts as long as any process has the fd
 * (the engine keeps it for a sandbox that it has lent), however the last of them ends.  Only root
 * can take one, so no other user can exhaust the ids.
 *
 * The file is /run/sandbox-run.ids; where that cannot be made, `ids` in /dev/shm/sandbox-run-UID;
 * where nothing is writable, an abstract socket name replaces the lock.  A process that sees
 * another file system there, as in another container, holds ids independently. */
#define ID_LOCKS_VARIABLE "SANDBOX_RUN_ID_LOCKS" /* another directory, which must exist */

struct id_lock {
    int fd;       /* an open file for one id; the caller closes it */
    bool is_name; /* a socket, because no file can be made */
};

int id_locks_open(struct id_lock *ret, sbr_error *err) must_check;
/* 1: held until the fd is closed; 0: another run has it; -1 with errno. */
int id_locks_hold(const struct id_lock *lock, uint32_t id);

/* Owners of trees, where the run has a host id of its own: inside, the owner of a tree's top is the
 * run's user; on the host, that owner owns what the run writes.  Uses idmapped mounts, which not
 * every file system supports. */
struct idmap {
    const struct ids *ids;
    struct id_pair owner; /* the owner that `namespace_fd` maps to the run */
    int namespace_fd;     /* -1: none yet */
};

void idmap_init(struct idmap *map, const struct ids *ids);
void idmap_done(struct idmap *map);

/* Maps a detached tree; `below`: with all mounts in it.  0, or -1 where that is not supported. */
int idmap_tree(struct idmap *map, int tree_fd, bool below);

/* The same for a tree of ours, by giving its owner's files to the run; 0 or -1. */
int idmap_chown(const struct ids *ids, int tree_fd);

#endif
