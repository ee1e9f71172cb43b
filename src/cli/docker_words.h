/* `docker run` as words of `sandbox-run exec`. */
#ifndef CLI_DOCKER_WORDS_H
#define CLI_DOCKER_WORDS_H

#include "cli/docker_options.h"

/* Brings the image, if it is not there, as Docker does. */
int docker_words_image(const char *ref, sbr_error *err) must_check;
/* Adds `exec` and all that follows it. */
int docker_words_exec(struct string_list *list, const struct docker_run *run, sbr_error *err)
    must_check;

#endif
