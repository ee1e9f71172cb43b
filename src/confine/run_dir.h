/* The directory of a run without a private root: init makes it on the host's file system, as the
 * user of the run; whichever process sees the end of the run first removes it. */
#ifndef CONFINE_RUN_DIR_H
#define CONFINE_RUN_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "confine/confiner.h"

/* Inside: makes it with its scratch directories and makes it the current directory. */
int run_dir_enter(struct inside *in, sbr_error *err) must_check;

struct run_dir_use {
    uint64_t bytes, files;
    bool unseen;         /* too deep, or a directory could not be read                       */
    uint64_t most_files; /* the count stops there                                            */
    bool unlocks;        /* set by the caller: unlock locked directories while they are read */
};

/* Counts what is in the directory, up to `most_files`. */
void run_dir_measure(int dir_fd, uint64_t most_files, struct run_dir_use *use);

/* Removes the directory and its contents, however deep; does nothing when it does not exist. */
void run_dir_remove(const char *path);

#endif
