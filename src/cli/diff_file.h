/* The file of --diff=FILE. */
#ifndef CLI_DIFF_FILE_H
#define CLI_DIFF_FILE_H

#include "cli/cli.h"
#include "model/result.h"

/* Before the run: its changes would be lost with a file that cannot be written.  What is in the
 * file stays until the end.  *ret is -1 when there is none. */
int diff_file_open(const struct options *o, int *ret, sbr_error *err) must_check;
/* Takes the diff out of the result, so that nothing repeats it. */
int diff_file_write(const struct options *o, int fd, sbr_result *result, sbr_error *err) must_check;

#endif
