/* How a tree leaves the sandbox: init walks it when everything else inside is dead, and writes what it
 * finds to a pipe, entry by entry.  Names are single components, so there is no path to be tricked with;
 * links are passed on as text and followed by nobody. */
#ifndef SANDBOX_COLLECT_H
#define SANDBOX_COLLECT_H

#include <stdint.h>

enum collect_kind {
    COLLECT_END = 1, /* that was all                                          */
    COLLECT_ENTER,   /* a directory; what follows is in it                    */
    COLLECT_LEAVE,   /* back to the directory above                           */
    COLLECT_FILE,    /* `size` bytes follow                                   */
    COLLECT_LINK,    /* its text follows, `size` bytes                        */
    COLLECT_FAILED   /* `name` could not be read, `size` is errno; the last   */
};

/* Followed by the name, without its NUL, and by what the kind says. */
struct collect_entry {
    uint32_t kind;
    uint32_t executable;
    uint64_t size;
    /* Of files and directories: tools compare the times of what they made. */
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint32_t name_len;
};

#define COLLECT_MAX_DEPTH 96
#define COLLECT_MAX_NAME 255

#endif
