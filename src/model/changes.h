/* What a program changed in trees that it saw copy-on-write: pure data. */
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
    CHANGE_MODIFIED, /* content, text of a link, or kind */
    CHANGE_DELETED,
    CHANGE_RENAMED, /* a file whose content is that of one that is gone; the mode may differ */
    CHANGE_MODE,    /* nothing but the mode */
    N_CHANGE_OPS
};

enum node_kind { NODE_NONE, NODE_FILE, NODE_DIR, NODE_LINK, NODE_OTHER, N_NODE_KINDS };

/* What stands at a path. */
struct node {
    enum node_kind kind;
    uint32_t mode; /* of 07777 */
    uint64_t size; /* of a file, of the text of a link; 0 otherwise */
    int64_t mtime_ns;
};

struct change {
    enum change_op op;
    unsigned int root; /* index in changes->roots */
    char *path;        /* relative to the root, without "..", any other bytes */
    char *from;        /* renamed: where it was; NULL otherwise */
    struct node now;   /* kind NODE_NONE when deleted */
    struct node
        base; /* in the real tree when the run ended; renamed: of `from`; NODE_NONE when created */
    /* How the base is recognised again.  The sum is that of a file's content or of a link's text; empty for other kinds
     * and where it could not be read or was too much to read. */
    uint64_t base_ino;
    int64_t base_ctime_ns;
    char base_sum[SHA256_HEX_SIZE];
    bool
        raced; /* the real one changed while the program ran, and what it saw of it is not known; never a directory */
};

/* A tree that was brought in. */
struct change_root {
    char *source; /* absolute, on the host */
    char *target; /* absolute, inside      */
};

/* All zero is an empty list. */
struct changes {
    struct change
        *items; /* in the order of roots, then of paths (bytes), once changes_sort was called */
    size_t n, room;
    struct change_root *roots;
    size_t n_roots;
};

void changes_done(struct changes *changes);
/* Copies both texts; index, or negative. */
int changes_add_root(struct changes *changes, const char *source, const char *target,
                     sbr_error *err);
/* Takes over `path` and `from`, also when it fails. */
int changes_add(struct changes *changes, const struct change *change, sbr_error *err) must_check;
void changes_sort(struct changes *changes);
/* Frees what it holds. */
void change_done(struct change *change);

const char *change_op_name(
    enum change_op op); /* "created", "modified", "deleted", "renamed", "mode" */
const char *changes_node_kind_name(enum node_kind kind); /* "file", "directory", "link", "other" */

/* One line: "would delete 3 files, 45 MB; modify 1"; with `done`, "deleted 3 files, 45 MB; modified 1".
 * "no changes" when there are none. */
void changes_summary(const struct changes *changes, bool done, char *buf, size_t size);

/* "3 bytes", "1.5 kB", "45 MB": powers of a thousand, two digits. */
#define SIZE_TEXT_SIZE 32
void changes_size_text(uint64_t bytes, char buf[SIZE_TEXT_SIZE]);

/* "changes": [...] with at most CHANGES_JSON_MAX entries, fewer when their names are very long; "changes_total" and
 * "changes_summary".  Without changes (NULL): null, all three. */
#define CHANGES_JSON_MAX 10000
void changes_put_json(struct jsonw *j, const struct changes *changes);

#endif
