/* Owners of trees, where the run has a host id of its own: the owner of a tree's top is the run's user
 * inside, and what the run writes there is that owner's on the host.  By idmapped mounts, which not every
 * file system has. */
#ifndef SANDBOX_IDMAP_H
#define SANDBOX_IDMAP_H

#include <stdbool.h>

#include "sandbox/ids.h"

struct idmap {
    const struct ids *ids;
    struct id_pair owner; /* whom `namespace_fd` maps to the run */
    int namespace_fd;     /* -1: none yet */
};

void idmap_init(struct idmap *map, const struct ids *ids);
void idmap_done(struct idmap *map);

/* A detached tree; `below`: with all that is mounted in it.  0, or -1 where it cannot be had. */
int idmap_tree(struct idmap *map, int tree_fd, bool below);

/* The same for a tree of ours, by giving its owner's files to the run; 0 or -1. */
int idmap_chown(const struct ids *ids, int tree_fd);

#endif
