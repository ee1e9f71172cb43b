/* Room that the program takes outside the scratch space: above copy-on-write trees whose changes lie on a disk
 * of the host's, and in copies.  No file system bounds it, so it is measured. */
#ifndef INIT_DISK_USAGE_H
#define INIT_DISK_USAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "confine/confiner.h"
#include "confine/run_dir.h"

struct disk_usage_tree {
    int fd;
    struct place_use before; /* of a copy: what was there already */
};

#define DISK_USAGE_MAX_TREES PLAN_MAX_COW

struct disk_usage {
    struct disk_usage_tree trees[DISK_USAGE_MAX_TREES];
    size_t n_trees;
    uint64_t most_files;
    dev_t devices[DISK_USAGE_MAX_TREES]; /* of trees that the program writes to, measured or not */
    bool measured[DISK_USAGE_MAX_TREES];
    size_t n_devices;
};

/* Before the program starts. */
void disk_usage_init(struct disk_usage *usage, const struct inside *in);

/* What is used up of the plan's share, with `nameless` bytes in files that no directory shows; 0: nothing is.
 * What is left of the scratch space is left for all of it together. */
uint32_t disk_usage_look(const struct disk_usage *usage, int scratch_fd, uint64_t nameless);

#endif
