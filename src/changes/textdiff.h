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

/* Two texts as lines with numbers: equal lines have equal numbers. */
struct textdiff_lines {
    struct text text;
    size_t *starts; /* n + 1 of them */
    uint32_t *ids;
    bool *changed; /* not in the other text, or not at this place of it */
    size_t n;
};

/* -1 without memory; the caller calls textdiff_lines_done in any case.  A last line without a
 * newline differs from one with it. */
int textdiff_lines_init(struct textdiff_lines *a, struct textdiff_lines *b, struct text before,
                        struct text after);
void textdiff_lines_done(struct textdiff_lines *lines);

/* Marks what differs, in at most *work steps; -1 without memory. */
int textdiff_lines_compare(struct textdiff_lines *a, struct textdiff_lines *b, uint64_t *work);
/* Moves marks to where people expect them, where that is equivalent. */
void textdiff_lines_settle(struct textdiff_lines *a, struct textdiff_lines *b);

#endif
