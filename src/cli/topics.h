/* The pages of docs/, as `sandbox-run help TOPIC` shows them. */
#ifndef CLI_TOPICS_H
#define CLI_TOPICS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/* NULL past the last. */
const char *topic_name(size_t i);
const char *topic_about(size_t i);
bool topic_exists(const char *name);

/* Prints the page, at a terminal through a pager. */
int topic_show(const char *name, const struct options *o, sbr_error *err) must_check;

#endif
