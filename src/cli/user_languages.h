/* Languages of the user's own: files in $XDG_CONFIG_HOME/sandbox-run/languages, and --language-file. */
#ifndef CLI_USER_LANGUAGES_H
#define CLI_USER_LANGUAGES_H

#include "cli/options.h"

/* Reads them all; later ones count before earlier ones.  The lean program, which has no YAML reader, becomes the
 * whole one when there is anything to read. */
int user_languages(struct options *o, sbr_error *err) must_check;

/* The directory, whether it is there or not; false when neither variable says where. */
bool user_languages_dir(char *path, size_t size);

#endif
