/* Unified diffs, for people. */
#ifndef CHANGES_TEXTDIFF_H
#define CHANGES_TEXTDIFF_H

#include "base/buf.h"
#include "model/changes.h"

struct text {
    const char *data;
    size_t len;
};

/* Hunks with three lines of context, like `diff -u` (without the two header lines), with "\\ No
 * newline at end of file" where it belongs.  Time and memory are bounded: *work is counted down
 * with each step, and what differs too much becomes one large hunk. 0; -1 without memory, or when
 * `out` is full: then it holds the beginning. */
int textdiff(struct text before, struct text after, uint64_t *work, struct buf *out) must_check;

struct diff_options {
    bool color;
    uint64_t max_file; /* larger files are only named, with their sizes; 0: no limit */
    size_t max_lines;  /* of hunks; longer new and deleted files are only named; 0: no limit */
    size_t max_bytes;  /* of all; then it says how many changes are left out; 0: no limit */
};

/* Header and hunks of each change; binary, huge and special files in one line each; control
 * characters of names and contents are made visible.  `content_fd` holds ROOT-INDEX/PATH of new
 * contents; the old are read from the roots' sources, if they are unchanged. */
int changes_diff(const struct changes *changes, int content_fd, const struct diff_options *options,
                 struct buf *out, sbr_error *err) must_check;

/* A name for people: as it is, or in quotes with \n, \033 and the like. */
void visible_put_name(struct buf *out, const char *name);
/* A line of text: makes visible control characters except the tab, those that change the direction
 * of reading, and what is no UTF-8; cuts what is very long. */
void visible_put(struct buf *out, const char *line, size_t len);

#endif
