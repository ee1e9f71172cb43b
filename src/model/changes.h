/* What a program changed in its copy-on-write trees: pure data. */
#ifndef MODEL_CHANGES_H
#define MODEL_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/encoding.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "base/sha256.h"

enum change_op {
    CHANGE_CREATED,
    CHANGE_MODIFIED, /* content, target of a link, or kind */
    CHANGE_DELETED,
    CHANGE_RENAMED, /* a file with the content of a deleted one; the mode may differ */
    CHANGE_MODE,    /* only the mode */
    N_CHANGE_OPS
};

enum node_kind { NODE_NONE, NODE_FILE, NODE_DIR, NODE_LINK, NODE_OTHER, N_NODE_KINDS };

/* A file, directory or link at a path. */
struct node {
    enum node_kind kind;
    uint32_t mode; /* bits of 07777 */
    uint64_t size; /* of a file, or of a link's target; 0 otherwise */
    int64_t mtime_ns;
};

struct change {
    enum change_op op;
    unsigned int root; /* index in changes->roots */
    char *path;        /* relative to the root; no "..", otherwise any bytes */
    char *from;        /* renamed: the old path; NULL otherwise */
    struct node now;   /* NODE_NONE when deleted */
    /* In the real tree when the run ended; renamed: that of `from`; NODE_NONE when created. */
    struct node base;
    /* Identify the base later.  The sum is of a file's content or a link's target; empty for other
     * kinds and when the content was unreadable or too large. */
    uint64_t base_ino;
    int64_t base_ctime_ns;
    char base_sum[SHA256_HEX_SIZE];
    /* The real file changed while the program ran, and which version the program saw is unknown.
     * Never set for a directory. */
    bool raced;
};

/* A copy-on-write tree. */
struct change_root {
    char *source; /* absolute, on the host */
    char *target; /* absolute, inside */
};

/* All zero is an empty list. */
struct changes {
    /* Ordered by root, then by path (bytes), after changes_sort. */
    struct change *items;
    size_t n, room;
    struct change_root *roots;
    size_t n_roots;
};

void changes_done(struct changes *changes);
/* Copies both texts.  Returns the index, or a negative code. */
int changes_add_root(struct changes *changes, const char *source, const char *target,
                     sbr_error *err);
/* Takes over `path` and `from`, even on failure. */
int changes_add(struct changes *changes, const struct change *change, sbr_error *err) must_check;
void changes_sort(struct changes *changes);
/* Frees its texts, not the struct. */
void change_done(struct change *change);

/* "created", "modified", "deleted", "renamed", "mode" */
const char *change_op_name(enum change_op op);
/* "file", "directory", "link", "other" */
const char *changes_node_kind_name(enum node_kind kind);

/* One line: "would delete 3 files, 45 MB; modify 1", or with `done` "deleted 3 files, 45 MB;
 * modified 1"; "no changes" for an empty list. */
void changes_summary(const struct changes *changes, bool done, char *buf, size_t size);

/* "3 bytes", "1.5 kB", "45 MB": powers of a thousand, two digits. */
#define SIZE_TEXT_SIZE 32
void changes_size_text(uint64_t bytes, char buf[SIZE_TEXT_SIZE]);

/* Writes "changes": [...] with at most CHANGES_JSON_MAX entries, fewer when their names are very
 * long, "changes_total" and "changes_summary"; all three are null when `changes` is NULL. */
#define CHANGES_JSON_MAX 10000
void changes_put_json(struct jsonw *j, const struct changes *changes);

#endif
