/* One layer of an image, unpacked onto the disk by tar in a sandbox. */
#ifndef LIB_IMAGE_UNPACK_H
#define LIB_IMAGE_UNPACK_H

#include "sandboxrun.h"
#include "workspace/workspace.h"

/* What the layers of an image may take of the disk together; more is a bomb. */
struct image_room {
    uint64_t max_size;   /* what the user gives it; 0: as its packed size allows */
    uint64_t packed;     /* of the layers that were compared with their digests */
    uint64_t used;       /* by those that were unpacked */
    uint64_t used_files; /* the same */
};
struct workspace_quota image_unpack_room(const struct image_room *room);

struct image_unpack {
    const sbr_runtime *rt;
    int fd;        /* the packed layer */
    uint64_t size; /* of it */
    struct image_room *room;
    const char *diff_id; /* SHA-256 of the archive in it */
    const char *dir;     /* of ours, empty */
    int dir_fd;
    /* Called now and then with the bytes of the packed layer that were read; may be NULL. */
    void (*show)(void *context, uint64_t done, uint64_t of);
    void *context;
};

/* Files keep their times and "executable", and all may read them.  A layer that differs from its
 * diff id, is a bomb or makes tar fail is refused; what it left in the directory is the caller's to
 * remove.  SBR_E_UNSUPPORTED: no sandbox can write to the directory; nothing was done. */
int image_unpack(const struct image_unpack *unpack, sbr_error *err);

/* Adds what a layer has become; it may be too much. */
int image_unpack_count(int tree_fd, struct image_room *room, sbr_error *err);

#endif
