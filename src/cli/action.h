/* The words that a command begins with, as in `sandbox-run cache prune`. */
#ifndef CLI_ACTION_H
#define CLI_ACTION_H

#include "cli/cli.h"

struct action {
    const char *name;
    int (*run)(const struct options *o, sbr_error *err);
    size_t min_words, max_words; /* that follow its name */
    const char *words;           /* the same as text, with a blank in front */
};

/* The action that the first word names, without words the first one; an empty row ends them.  NULL
 * and an error when there is none, or when it does not take the words that follow. */
const struct action *action_find(const struct options *o, const struct action *actions,
                                 sbr_error *err);

#endif
