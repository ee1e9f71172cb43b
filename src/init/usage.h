/* Room that the program takes outside the scratch space: above copy-on-write trees whose changes lie on a disk
 * of the host's, and in copies.  No file system bounds it, so it is measured. */
#ifndef INIT_USAGE_H
#define INIT_USAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "confine/confiner.h"
#include "confine/run_dir.h"

struct room_tree {
    int fd;
    struct place_use before; /* of a copy: what was there already */
};

#define ROOM_MAX_TREES PLAN_MAX_COW

struct room {
    struct room_tree trees[ROOM_MAX_TREES];
    size_t n_trees;
    uint64_t most_files;
    dev_t devices[ROOM_MAX_TREES]; /* of trees that the program writes to, measured or not */
    bool measured[ROOM_MAX_TREES];
    size_t n_devices;
};

/* Before the program starts. */
void room_init(struct room *room, const struct inside *in);

/* What is used up of the plan's share, with `nameless` bytes in files that no directory shows; 0: nothing is.
 * What is left of the scratch space is left for all of it together. */
uint32_t room_look(const struct room *room, int scratch_fd, uint64_t nameless);

#endif
