/* Runs that `docker run --name` started: a file each in the state directory, locked by the process
 * for as long as the run lasts. */
#ifndef CLI_DOCKER_NAMES_H
#define CLI_DOCKER_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define DOCKER_TEXT_SIZE 200

struct docker_named {
    const char *name;
    pid_t pid;
    unsigned long long start; /* of the process, in ticks since the boot */
    uint64_t started;         /* seconds since 1970 */
    char image[DOCKER_TEXT_SIZE];
};

/* Takes the name for this process and what it executes.  SBR_E_BUSY: another run has it. */
int docker_names_take(const char *name, const char *image, sbr_error *err) must_check;
/* Each run that lives; removes the files of those that ended. */
int docker_names_list(void (*each)(void *context, const struct docker_named *one), void *context,
                      sbr_error *err) must_check;
/* Sends a signal (0: none) to a run by its name, never to a process that has its number by now, and
 * waits for its end, if `wait_ms` is not 0. */
int docker_names_signal(const char *name, int number, unsigned int wait_ms, sbr_error *err)
    must_check;

#endif
