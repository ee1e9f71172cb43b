/* What came out of the sandbox for one tree: a list, with the contents of files in a directory of ours. */
#ifndef WORKSPACE_TAKEN_H
#define WORKSPACE_TAKEN_H

#include "monitor/intake.h"

/* struct intake_list and its entries (monitor/intake.h) are the list; contents lie below `content_fd` under the same
 * paths: files with mode 0600, directories with 0700, links as links.  Nobody but us can write there. */
struct taken {
    struct intake_list list;
    int content_fd; /* -1: there is none */
};

#endif
