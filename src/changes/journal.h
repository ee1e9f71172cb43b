/* What undo needs: ID/undo/ with `journal` and the originals, which have numbers for names.
 *
 * Originals are on the disk before the journal names them; the journal is, before anything is
 * touched.  What was stored first stays: a repeated apply finds its own files, which are no
 * originals.  Private to apply and undo. */
#ifndef CHANGES_JOURNAL_H
#define CHANGES_JOURNAL_H

#include "changes/apply_plan.h"
#include "changes/changeset.h"

struct journal_entry {
    unsigned int root;
    char *path;
    struct node was; /* kind NODE_NONE: nothing */
    struct node now; /* what apply makes of it */
    uid_t uid;
    gid_t gid;
    char original[24]; /* name in undo/; "" when none is needed */
    size_t number;     /* of the step's temporary name */
    bool mode_only;
    bool opened; /* a directory that apply made writable for a while */
    bool linked; /* the original is the file itself, no copy */
};

struct journal {
    int fd;                      /* of undo/; -1: there is none */
    struct journal_entry *items; /* in the order of roots and paths */
    size_t n;
    uint64_t next; /* name of the next original */
};

/* 1; 0 when there is nothing to undo and `make` is false; negative. */
int journal_open(struct changeset *changeset, bool make, struct journal *ret, sbr_error *err)
    must_check;
void journal_close(struct journal *j);
struct journal_entry *journal_find(const struct journal *j, unsigned int root, const char *path);

/* Stores what the steps are going to touch and writes the journal.  Updates `there` of the steps: a
 * link to a file changes its times.  When it fails, the journal is as it was. */
int journal_record(struct journal *j, struct apply_plan *e, sbr_error *err) must_check;
/* Removes entries (`keep[i]` false) and writes the journal; the last one removes the directory. */
int journal_reduce(struct changeset *changeset, struct journal *j, const bool *keep, sbr_error *err)
    must_check;

#endif
