/* Saves collected outputs where --output wants them. */
#ifndef CHANGES_DELIVER_H
#define CHANGES_DELIVER_H

#include "base/save.h"
#include "changes/collected_tree.h"
#include "model/outputs.h"

/* For one rule: paths of `collected` are relative to the root inside.  Each file is made aside in
 * its directory and renamed, so that it is whole; below rule->dir it has the path without the fixed
 * part of the pattern.  No link is followed below rule->dir, nor one of `trees` on the way to it.
 * No directory is replaced.  Without rule->dir a file is only listed. */
int deliver(const struct output_rule *rule, const struct collected *collected,
            const struct save_trees *trees, struct output_files *files, sbr_error *err) must_check;

/* One file below `dir_fd` by the same rules; 0, or -1 with errno. */
int deliver_file(int from_fd, uint64_t size, bool executable, int dir_fd, const char *path);
/* The same for a link.  EXDEV: it leads out of `dir_fd`, and was not made. */
int deliver_link(const char *text, int dir_fd, const char *path);

#endif
