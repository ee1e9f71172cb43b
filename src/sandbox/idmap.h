/* Owners of trees, where the run has a host id of its own: inside, the owner of a tree's top is the
 * run's user; on the host, that owner owns what the run writes.  Uses idmapped mounts, which not
 * every file system supports. */
#ifndef SANDBOX_IDMAP_H
#define SANDBOX_IDMAP_H

#include <stdbool.h>

#include "sandbox/ids.h"

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
