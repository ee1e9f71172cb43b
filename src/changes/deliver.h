/* Collected outputs go to where --output wants them. */
#ifndef CHANGES_DELIVER_H
#define CHANGES_DELIVER_H

#include "changes/collected.h"
#include "model/outputs.h"

/* What was taken for one rule: `taken`'s paths are relative to the root inside.  Each file is made aside in the directory
 * where it goes and renamed, so that it is whole; below rule->dir it has the path that the pattern's fixed part leaves.
 * No link on the way is followed below rule->dir, no directory is replaced.  Without rule->dir it is only listed. */
int deliver(const struct output_rule *rule, const struct collected *collected,
            struct output_files *files, sbr_error *err) must_check;

#endif
