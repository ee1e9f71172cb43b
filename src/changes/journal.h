/* What apply needs to be undone: ID/undo/ with `journal` and the originals, which have numbers for names.
 *
 * Originals are there, and on the disk, before the journal names them; the journal is, before anything is touched.  What
 * was stored first stays: an apply that is repeated finds what it has put there itself, and that is no original.  Private
 * to apply and undo. */
#ifndef CHANGES_JOURNAL_H
#define CHANGES_JOURNAL_H

#include "changes/apply_plan.h"
#include "changes/changeset.h"

struct journal_entry {
    unsigned int root;
    char *path;
    struct node was; /* kind NODE_NONE: nothing */
    struct node now; /* what apply brings about */
    uid_t uid;
    gid_t gid;
    char original[24]; /* name in undo/; "" when none is needed */
    size_t number;     /* of the step's temporary name */
    bool mode_only;
    bool opened; /* a directory that apply had to make writable for a while */
    bool linked; /* the original is the very file, not a copy */
};

struct journal {
    int fd;                      /* of undo/; -1: there is none */
    struct journal_entry *items; /* in the order of roots and paths */
    size_t n;
    uint64_t next; /* name of the next original */
};

/* 1; 0 when nothing is to be undone and it was not to be made; negative. */
int journal_open(struct changeset *changeset, bool make, struct journal *ret, sbr_error *err)
    must_check;
void journal_close(struct journal *j);
struct journal_entry *journal_find(const struct journal *j, unsigned int root, const char *path);

/* Stores what the engine's steps are going to touch and writes the journal.  `there` of the steps is brought up to date:
 * a link to a file changes its times.  When it fails, the journal is what it was. */
int journal_record(struct journal *j, struct apply_plan *e, sbr_error *err) must_check;
/* Takes entries out (`keep[i]` false) and writes it; the last one takes the directory with it. */
int journal_reduce(struct changeset *changeset, struct journal *j, const bool *keep, sbr_error *err)
    must_check;

#endif
