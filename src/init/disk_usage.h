/* Disk space that the program takes outside the scratch space: in upper directories of
 * copy-on-write trees that are on a disk of the host, and in copies.  No file system bounds
 * it, so it is measured. */
#ifndef INIT_DISK_USAGE_H
#define INIT_DISK_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "confine/confiner.h"
#include "confine/run_dir.h"

struct disk_usage_tree {
    int fd;
    struct run_dir_use before; /* of a copy: what it held before the run */
};

#define DISK_USAGE_MAX_TREES PLAN_MAX_COW

struct disk_usage {
    struct disk_usage_tree trees[DISK_USAGE_MAX_TREES];
    size_t n_trees;
    uint64_t most_files;
    dev_t devices[DISK_USAGE_MAX_TREES]; /* of writable trees, measured or not */
    bool measured[DISK_USAGE_MAX_TREES];
    size_t n_devices;
};

/* To be called before the program starts. */
void disk_usage_init(struct disk_usage *usage, const struct inside *in);

/* Which limit of the plan is exceeded, counting `nameless` bytes of files that no directory shows;
 * 0: none.  All trees together may take what is free in the scratch space. */
uint32_t disk_usage_look(const struct disk_usage *usage, int scratch_fd, uint64_t nameless);

/* Open files without a name: no directory shows them, and each takes space. */
struct open_files {
    int proc_fd;
    pid_t program;                       /* until its exec it is a copy of init      */
    dev_t scratch;                       /* the device of the program's own files    */
    const struct disk_usage *disk_usage; /* further devices; may be NULL             */
    uint64_t disk_bytes;                 /* on `scratch`                             */
    uint64_t disk_usage_bytes;           /* on further devices that are measured     */
    uint64_t memory_bytes;               /* elsewhere: memory files                  */
    bool unseen;                         /* a process hides its open files           */
    ino_t seen[1024];                    /* each counts once; more count per process */
    size_t n_seen;
};

/* Adds the open files of one process; a tree_visit, with a struct open_files. */
void open_files_add(void *context, pid_t pid);

#endif
