/* What `docker version`, `info`, `stats` and `inspect` print. */
#ifndef CLI_DOCKER_SHOW_H
#define CLI_DOCKER_SHOW_H

#include "base/err.h"

int docker_show_version(char **words, sbr_error *err) must_check;
int docker_show_info(char **words, sbr_error *err) must_check;
int docker_show_stats(char **words, sbr_error *err) must_check;
int docker_show_inspect(char **words, sbr_error *err) must_check;

#endif
