/* `docker run -d`: the run in a process of its own, which needs no terminal and nobody to wait. */
#ifndef CLI_DOCKER_DETACH_H
#define CLI_DOCKER_DETACH_H

#include "cli/docker_options.h"

/* Gives the run a name, if it has none: its output is found by it. */
void docker_detach_prepare(struct docker_run *run);
/* Starts it by `start`, which returns only when it failed, and prints the name once `has_begun` is
 * true of it.  What the run said on stderr before it began is printed when it ends before; its
 * status is returned then. */
int docker_detach(const struct docker_run *run, struct string_list *words,
                  int (*start)(const struct docker_run *run, struct string_list *words,
                               sbr_error *err),
                  bool (*has_begun)(const char *name), sbr_error *err) must_check;

#endif
