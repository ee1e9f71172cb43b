/* Reads what init sends (wire/collect.h) and writes it below our directories, one per part.
 *
 *   (1) An untrusted program made what arrives: every name is one component, every file is new, no
 *       link is followed, bytes and entries have a maximum.
 *   (2) The directory keeps only "executable" of the modes, and no owners; a list has the rest.
 *   (3) A part that fails inside does not affect the others; a broken stream ends all. */
#ifndef MONITOR_COLLECT_READER_H
#define MONITOR_COLLECT_READER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "wire/collect.h"

/* Everything that arrived for a part, in walk order: directories before their contents. */
struct collect_list_entry {
    enum collect_kind kind; /* ENTER for a directory, FILE, LINK, GONE, OTHER, SKIPPED */
    uint32_t mode;          /* st_mode, with its type */
    uint32_t flags;         /* COLLECT_OPAQUE */
    uint64_t size;          /* SKIPPED: enum collect_skip */
    int64_t mtime_ns;
    size_t path; /* offset in `text` of the path below the part's top */
};

struct collect_list {
    struct collect_list_entry *items;
    size_t n, room;
    struct buf text;
};

const char *collect_list_path(const struct collect_list *list, size_t index);
/* For callers that make such a list without a sandbox; 0, or -1 without memory. */
int collect_list_add(struct collect_list *list, struct collect_list_entry entry, const char *path);
void collect_list_done(struct collect_list *list);

/* One for each entry of plan->collects. */
struct collect_part {
    int dir_fd;                /* receives the contents: an empty directory of ours; borrowed */
    struct collect_list *list; /* NULL: not wanted; otherwise modes are 0600 and 0700 */
    bool complete;
    sbr_error failure; /* code 0: none */
};

/* What the next bytes are. */
enum collect_reader_state { TAKES_HEAD, TAKES_LINK, TAKES_PIECE, TAKES_DATA };

struct collect_reader {
    uint64_t max_bytes, max_entries;
    struct collect_part *parts; /* borrowed */
    size_t n_parts;
    struct collect_part *part; /* the current one; NULL: none yet */
    int fd;                    /* to read from; -1: closed */
    struct loop *loop;
    struct loop_watch watch;
    void (*began)(void *context); /* called on the first bytes; NULL: not wanted */
    void *context;
    int dirs[COLLECT_MAX_DEPTH + 1]; /* dirs[0] is borrowed from the part */
    int depth;
    size_t path_len[COLLECT_MAX_DEPTH + 1]; /* of the path to each of them */
    char path[COLLECT_MAX_PATH + COLLECT_MAX_NAME + 2];

    enum collect_reader_state state;
    struct collect_entry entry; /* whose name or content is arriving */
    size_t have; /* bytes of the head and the name, of the piece's head or of the link */
    unsigned char head[sizeof(struct collect_entry) + COLLECT_MAX_NAME];
    char name[COLLECT_MAX_NAME + 1], link[COLLECT_MAX_LINK + 1];
    struct collect_piece piece;
    int file;         /* being written; -1: none */
    uint64_t written; /* end of the last piece */

    uint64_t bytes, sizes, entries;
    bool complete;     /* everything that was sent has arrived */
    bool ended;        /* its end has arrived, also after a failure of a part */
    bool broken;       /* the rest is ignored */
    sbr_error failure; /* the first one, of any part; code 0: none */
};

/* `parts` are borrowed, in the order of plan->collects. */
void collect_reader_init(struct collect_reader *reader, struct collect_part *parts, size_t n_parts,
                         uint64_t max_bytes, uint64_t max_entries);
/* Takes ownership of `fd`. */
int collect_reader_start(struct collect_reader *reader, int fd, struct loop *loop, sbr_error *err)
    must_check;
/* For one more stream on the same fd; SBR_E_DENIED when an earlier one broke. */
int collect_reader_next(struct collect_reader *reader, struct collect_part *parts, sbr_error *err)
    must_check;
/* Reads until the stream is complete; the reader is of no more use when it is not so in time. */
int collect_reader_wait(struct collect_reader *reader, uint64_t timeout_us, sbr_error *err)
    must_check;
/* The writer is gone: reads the rest.  Afterwards each part is complete or has a failure. */
void collect_reader_finish(struct collect_reader *reader);
void collect_reader_done(struct collect_reader *reader);
/* Takes bytes as they arrive. */
void collect_reader_take(struct collect_reader *reader, const unsigned char *data, size_t len);

/* For the file that reads the stream.  Notes why nothing more is taken; -1. */
int collect_reader_refuse(struct collect_reader *reader, const char *reason);
/* The stream is over: each part is complete or gets a failure. */
void collect_reader_judge(struct collect_reader *reader);
/* Closes what is open of a part. */
void collect_reader_leave(struct collect_reader *reader);

#endif
