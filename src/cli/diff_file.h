/* The file of --diff=FILE. */
#ifndef CLI_DIFF_FILE_H
#define CLI_DIFF_FILE_H

#include "base/save.h"
#include "cli/cli.h"
#include "model/result.h"

/* Before the run: its changes would be lost with a file that cannot be written.  What is in the
 * file stays until the end. */
int diff_file_open(const struct options *o, struct save_file *file, sbr_error *err) must_check;
/* Takes the diff out of the result, so that nothing repeats it. */
int diff_file_write(struct save_file *file, sbr_result *result, sbr_error *err) must_check;

#endif
