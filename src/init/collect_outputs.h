/* Hands out files that match a pattern. */
#ifndef INIT_COLLECT_OUTPUTS_H
#define INIT_COLLECT_OUTPUTS_H

#include "init/collect_stream.h"

/* 0 or an errno that ends the part. */
int collect_outputs(struct stream *s, int root_fd, const char *pattern);

#endif
