/* Takes in what init hands out (wire/collect.h) and writes it below directories of ours, one for each part.
 *
 *   (1) What arrives was made by a stranger: every name is one component, every file is new, no link is
 *       followed, bytes and entries are counted against a maximum.
 *   (2) Of modes only "executable" is kept in the directory, and nothing of owners; a list has the rest.
 *   (3) A part that fails inside takes no other with it; what is wrong with the stream ends it for all. */
#ifndef MONITOR_COLLECT_READER_H
#define MONITOR_COLLECT_READER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "wire/collect.h"

/* Everything that arrived for a part, in the order of its walk: directories before what is in them. */
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
/* For whoever makes such a list without a sandbox; 0 or -1 without memory. */
int collect_list_add(struct collect_list *list, struct collect_list_entry entry, const char *path);
void collect_list_done(struct collect_list *list);

/* One for each entry of plan->collects. */
struct collect_part {
    int dir_fd;                /* where its contents go: an empty directory of ours; borrowed */
    struct collect_list *list; /* NULL: nobody wants it; otherwise modes are 0600 and 0700    */
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
    void (*began)(void *context); /* with the first bytes; NULL: nobody wants to know */
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
    uint64_t written; /* how far */

    uint64_t bytes, sizes, entries;
    bool complete;     /* all that was sent is there */
    bool broken;       /* nothing more is taken     */
    sbr_error failure; /* the first one, of whatever part; code 0: none */
};

/* The parts stay the caller's; their order is that of plan->collects. */
void collect_reader_init(struct collect_reader *reader, struct collect_part *parts, size_t n_parts,
                         uint64_t max_bytes, uint64_t max_entries);
/* Takes the descriptor over. */
int collect_reader_start(struct collect_reader *reader, int fd, struct loop *loop, sbr_error *err)
    must_check;
/* The writer is gone: reads what is left.  Afterwards each part is complete or has a failure. */
void collect_reader_finish(struct collect_reader *reader);
void collect_reader_done(struct collect_reader *reader);
/* Bytes as they arrive; for tests. */
void collect_reader_take(struct collect_reader *reader, const unsigned char *data, size_t len);

#endif
