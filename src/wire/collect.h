/* How files leave the sandbox: init walks them when all other processes inside are dead, and writes
 * them to a pipe, part by part (struct plan_collect) and entry by entry.  Names are single
 * components, so no path can escape; links are passed on as text and never followed. */
#ifndef WIRE_COLLECT_H
#define WIRE_COLLECT_H

#include <stdint.h>

enum collect_kind {
    COLLECT_END = 1, /* the end of the stream                                                    */
    COLLECT_PART,    /* `size` is the index in the plan; what follows belongs to it              */
    COLLECT_ENTER,   /* a directory; what follows is in it                                       */
    COLLECT_LEAVE,   /* back to the directory above                                              */
    COLLECT_FILE,    /* `size` is the whole length; its pieces follow                            */
    COLLECT_LINK,    /* its text follows, `size` bytes                                           */
    COLLECT_GONE,    /* changes: an entry of the lower tree was deleted                          */
    COLLECT_OTHER,   /* a pipe, socket or device: only its name                                  */
    COLLECT_SKIPPED, /* outputs: not collected; `size` is enum collect_skip                      */
    COLLECT_FAILED   /* `name` failed with errno `size` (EFBIG, EDQUOT: too much); ends the part */
};

#define COLLECT_OPAQUE 1u /* flag of ENTER: hides the directory below it */

enum collect_skip {
    SKIP_LINK = 1,
    SKIP_OTHER,
    SKIP_NAME,
    SKIP_DEPTH,
    SKIP_TOO_MUCH,
    SKIP_UNREADABLE,
    N_SKIPS
};

/* Followed by the name, without its NUL, and by the data of its kind. */
struct collect_entry {
    uint32_t kind;
    uint32_t mode; /* st_mode, with its type */
    uint64_t size;
    /* For files and directories: tools compare the times of what they made. */
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint32_t flags;
    uint32_t name_len;
    uint32_t unused;
};

/* Followed by the bytes, which are not a hole; the last piece of a file has length 0. */
struct collect_piece {
    uint64_t offset, len;
};

#define COLLECT_MAX_DEPTH 96
#define COLLECT_MAX_NAME 255
#define COLLECT_MAX_LINK 4096
#define COLLECT_MAX_PATH 2600 /* with its prefix still a path that can be opened by name */

/* Most that comes out, over all parts.  A hard link comes out under each of its names, and a file
 * can be both a change and an output: more can come out than the scratch space holds. */
#define COLLECT_BYTES_PER_BYTE 4
#define COLLECT_ENTRIES_PER_INODE 2
/* Holes take no space, but a later reader of the files reads zeros: all sizes together are at most
 * this many times the bytes. */
#define COLLECT_SIZE_PER_BYTE 8

#endif
