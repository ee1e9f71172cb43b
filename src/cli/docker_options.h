/* `docker run` in Docker's own words, as words of `sandbox-run exec`. */
#ifndef CLI_DOCKER_OPTIONS_H
#define CLI_DOCKER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/string_list.h"

struct docker_run {
    struct string_list words;     /* options of `exec` */
    const char *name;             /* NULL: none */
    const char *entrypoint;       /* NULL: the image's; "": none */
    const char *user;             /* USER[:GROUP]; NULL: the image's */
    uint64_t memory, memory_swap; /* 0: not given */
    bool interactive, tty, detached;
    const char *image; /* NULL: none was given */
    char **command;    /* NULL-terminated; empty: the image's */
};

/* `argv` are the words behind `run`, NULL-terminated.  What is not done is refused with a sentence
 * that names the option.  docker_options_done is due either way. */
int docker_options_parse(char **argv, struct docker_run *ret, sbr_error *err) must_check;
void docker_options_done(struct docker_run *run);

#endif
