/* Changes that are kept: $STATE/changes/ID/ with `meta` (the list, the command, the time, whether
 * it is applied) and `tree` (ROOT-INDEX/PATH of new contents, `files/PATH` of collected outputs).
 * Whole or not there at all. */
#ifndef CHANGES_CHANGESET_H
#define CHANGES_CHANGESET_H

#include "changes/state_dir.h"
#include "model/changes.h"
#include "model/outputs.h"

#define CHANGESET_ABOUT 200

struct changeset {
    char id[ENCODING_ID_SIZE];
    char about[CHANGESET_ABOUT]; /* one line: the command */
    int64_t created;             /* seconds */
    int64_t created_ns;          /* the same in nanoseconds */
    bool applied;                /* some of it is applied: there is an undo */
    bool damaged;                /* of a listing: only the id is known */
    struct changes changes;
    struct output_files files;
    int dir_fd;  /* of ID/ */
    int tree_fd; /* of ID/tree */
    int lock_fd; /* one process at a time may apply, undo or drop; -1: not locked */
};

/* `staging` has the contents in its `tree`; it is used up, also when it fails.  The changeset has
 * its id.  Files without another destination lie in `tree`/files/RULE/PATH; their `saved` becomes
 * that path. */
int changeset_commit(struct staging *staging, const struct changes *changes,
                     struct output_files *files, const char *about, sbr_error *err) must_check;

/* `id` may be a unique prefix of at least 4 characters. */
int changeset_open(const char *id, struct changeset *ret, sbr_error *err) must_check;
void changeset_close(struct changeset *changeset);
/* Until changeset_close it is ours alone; SBR_E_BUSY when another process has it.  Reads `applied`
 * anew. */
int changeset_lock(struct changeset *changeset, sbr_error *err) must_check;
/* Writes `applied` anew. */
int changeset_mark(struct changeset *changeset, bool applied, sbr_error *err) must_check;

/* Newest first, the damaged last, without file descriptors.  A visitor that returns not 0 ends the
 * listing, which returns it. */
typedef int changeset_visit(void *context, const struct changeset *changeset);
int changeset_list(changeset_visit *visit, void *context, sbr_error *err) must_check;
struct jsonw;
/* What a listing shows of one, into an open object. */
void changeset_put_json(struct jsonw *j, const struct changeset *changeset);
/* Damaged ones too. */
int changeset_drop(const char *id, sbr_error *err) must_check;

#endif
