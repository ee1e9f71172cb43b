/* How files leave the sandbox: init walks them when everything else inside is dead, and writes what it
 * finds to a pipe, part by part (struct plan_collect) and entry by entry.  Names are single components, so
 * there is no path to be tricked with; links are passed on as text and followed by nobody. */
#ifndef WIRE_COLLECT_H
#define WIRE_COLLECT_H

#include <stdint.h>

enum collect_kind {
    COLLECT_END = 1, /* that was all                                               */
    COLLECT_PART,    /* `size` is the part's index in the plan: what follows is of it */
    COLLECT_ENTER,   /* a directory; what follows is in it                         */
    COLLECT_LEAVE,   /* back to the directory above                                */
    COLLECT_FILE,    /* `size` is the whole length; its pieces follow              */
    COLLECT_LINK,    /* its text follows, `size` bytes                             */
    COLLECT_GONE,    /* changes: what is below the copy-on-write tree was deleted  */
    COLLECT_OTHER,   /* a pipe, socket or device: named, never more                */
    COLLECT_SKIPPED, /* outputs: not taken; `size` is enum collect_skip            */
    COLLECT_FAILED /* `name` could not be read, `size` is errno: the part's last. EFBIG and EDQUOT: too much */
};

#define COLLECT_OPAQUE 1u /* flag of ENTER: nothing of the directory below shows through */

enum collect_skip {
    SKIP_LINK = 1,
    SKIP_OTHER,
    SKIP_NAME,
    SKIP_DEPTH,
    SKIP_TOO_MUCH,
    SKIP_UNREADABLE,
    N_SKIPS
};

/* Followed by the name, without its NUL, and by what the kind says. */
struct collect_entry {
    uint32_t kind;
    uint32_t mode; /* st_mode, with its type */
    uint64_t size;
    /* Of files and directories: tools compare the times of what they made. */
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint32_t flags;
    uint32_t name_len;
    uint32_t unused;
};

/* Bytes of a file that are not a hole follow; the last piece of a file has length 0. */
struct collect_piece {
    uint64_t offset, len;
};

#define COLLECT_MAX_DEPTH 96
#define COLLECT_MAX_NAME 255
#define COLLECT_MAX_LINK 4096
#define COLLECT_MAX_PATH 2600 /* with what stands before it, a path that can be opened by name */

/* How much comes out at most, over all parts.  Hard links are handed out under each of their names, and a file can be
 * both a change and an output: more can come out than the scratch space holds. */
#define COLLECT_BYTES_PER_BYTE 4
#define COLLECT_ENTRIES_PER_INODE 2
/* Holes take no room, but whoever reads the files afterwards reads zeros: sizes together are at most this many times
 * the bytes. */
#define COLLECT_SIZE_PER_BYTE 8

#endif
