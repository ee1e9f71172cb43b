/* What is read with a JSON or YAML library, which the lean program does not have. */
#ifndef CLI_DOCUMENTS_H
#define CLI_DOCUMENTS_H

#include "cli/source.h"

struct documents {
    /* --request: replaces o->request by the JSON request, with the options on top. */
    int (*load_request)(struct options *o, struct source *source, sbr_error *err);
    /* The configuration into o->config, for commands that take --no-config. */
    int (*read_config)(struct options *o, sbr_error *err);
    void (*free_config)(struct options *o);
    /* Sets what the request leaves open, and reports on stderr what was not taken. */
    int (*apply_config)(const struct options *o, sbr_error *err);
    /* How long things are kept; NULL: the default. */
    const struct retention *(*retention)(const struct options *o);
    /* --policy FILE, the user's languages and --language-file; of languages, later ones count
     * before earlier ones. */
    int (*add_languages)(struct options *o, sbr_error *err);
    /* Pulls the image of the request, or of its language, unless it is here. */
    int (*bring_image)(const struct options *o, sbr_error *err);
    /* `run` of a file that has only tests: the exit status. */
    int (*run_tests)(struct options *o);
    /* The command with --max-chars: the exit status. */
    int (*run_shortened)(struct options *o);
    /* `run work.ipynb`: the exit status. */
    int (*run_notebook)(struct options *o);
    /* `run --display`: the program as a cell of a session; the exit status. */
    int (*run_display)(struct options *o);
};

extern const struct documents documents;

#endif
