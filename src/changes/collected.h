/* What came out of the sandbox for one tree: a list, with the contents of files in a directory of ours. */
#ifndef CHANGES_COLLECTED_H
#define CHANGES_COLLECTED_H

#include "monitor/collect_reader.h"

/* struct collect_list and its entries (monitor/collect_reader.h) are the list; contents lie below `content_fd` under the same
 * paths: files with mode 0600, directories with 0700, links as links.  Nobody but us can write there. */
struct collected {
    struct collect_list list;
    int content_fd; /* -1: there is none */
};

#endif
