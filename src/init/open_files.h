/* Open files without a name: no directory shows them, and each takes space. */
#ifndef INIT_OPEN_FILES_H
#define INIT_OPEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/disk_usage.h"

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
