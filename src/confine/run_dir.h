/* The directory of a run without a private root: made inside, on the host's file system, by the
 * user of the run, and removed by whoever sees the run's end first. */
#ifndef CONFINE_RUN_DIR_H
#define CONFINE_RUN_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "confine/confiner.h"

/* Inside: makes it with its scratch directories; it becomes the current directory. */
int run_dir_enter(struct inside *in, sbr_error *err) must_check;

struct place_use {
    uint64_t bytes, files;
    bool unseen;         /* too many levels, or what could not be looked into */
    uint64_t most_files; /* looking ends there */
    bool
        unlocks; /* set by the caller: a locked directory is opened for the look, and closed again */
};

/* What is in it now, as far as `most_files`. */
void run_dir_measure(int dir_fd, uint64_t most_files, struct place_use *use);

/* With all that is in it, however deep; nothing happens when it is not there. */
void run_dir_remove(const char *path);

#endif
