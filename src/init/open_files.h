/* Files that are open and have no name (any more): no directory shows them, and each takes room. */
#ifndef INIT_OPEN_FILES_H
#define INIT_OPEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/disk_usage.h"

struct open_files {
    int proc_fd;
    pid_t program; /* the first of them all: until it is executed it is still ours      */
    dev_t scratch; /* the device of the program's own files                            */
    const struct disk_usage
        *disk_usage;     /* further ones; may be NULL                                       */
    uint64_t disk_bytes; /* on the first                                                      */
    uint64_t
        disk_usage_bytes;  /* on those of the others that are measured                         */
    uint64_t memory_bytes; /* elsewhere: memory files                                          */
    bool unseen;           /* a process hides what it has open                                 */
    ino_t seen[1024];      /* each counts once; beyond them, once for each who has it open      */
    size_t n_seen;
};

/* Adds what one process has open; a tree_visit, with a struct open_files. */
void open_files_add(void *context, pid_t pid);

#endif
