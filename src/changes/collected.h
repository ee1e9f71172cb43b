/* What came out of the sandbox for one tree: a list, and the contents of files in a directory of
 * ours. */
#ifndef CHANGES_COLLECTED_H
#define CHANGES_COLLECTED_H

#include "monitor/collect_reader.h"

/* The contents lie below `content_fd` under the paths of the list: files with mode 0600,
 * directories with 0700, links as links.  Only we can write there. */
struct collected {
    struct collect_list list;
    int content_fd; /* -1: there is none */
};

#endif
