/* The state of init. */
#ifndef INIT_STATE_H
#define INIT_STATE_H

#include <sys/types.h>

#include "confine/confiner.h"
#include "init/report.h"
#include "init/supervise.h"
#include "wire/control.h"

struct init {
    struct inside in;
    struct init_report *report;
    struct supervise supervise;
    struct usage_before before;
    int child_fd;                /* SIGCHLD                                          */
    pid_t program;               /* 0: none yet; of a standby: its driver            */
    int go_fd;                   /* to a driver that waits for its program; -1: none */
    bool refuses_fds;            /* the policy forbids to receive them            */
    pid_t kernels[INIT_KERNELS]; /* those of other languages; 0: none */
};

#endif
