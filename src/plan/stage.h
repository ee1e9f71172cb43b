/* The stages of one job, and what each gets besides the program: tools, layers of earlier stages,
 * drivers, and for an installer the network with its client's configuration. */
#ifndef PLAN_STAGE_H
#define PLAN_STAGE_H

#include "base/err.h"
#include "model/network.h"
#include "model/secret.h"
#include "plan/words.h"

enum stage { STAGE_RUN, STAGE_PREPARE, STAGE_INSTALL, STAGE_COMPILE, STAGE_CHECK, N_STAGES };

/* The name in the result. */
const char *stage_name(enum stage stage);
/* The stage in the language's file; NULL for the program's own stage. */
const struct stage_def *stage_def(const struct language *language, enum stage stage);

/* A tree that a stage leaves for later ones. */
enum layer { LAYER_PREPARED, LAYER_DEPS, LAYER_BUILD, N_LAYERS };

/* A file of the host that configures a client; the supervisor reads it. */
struct config_file {
    char *path; /* inside, absolute */
    char *data;
    size_t len;
};

struct stage_config {
    struct config_file *files;
    size_t n_files;
    struct words env; /* NAME=VALUE */
    /* Only the registries for which the clients are configured. */
    struct network network;
    /* What the way out adds to requests to them, and its proxy: nothing of it is inside. */
    struct secrets secrets;
};

struct plan;
struct plan_input;

/* True when the stage sees a project or workspace at /work; prepare and install do not. */
bool stage_sees_work(const struct plan_input *in);

/* The command of a stage that runs for this request. */
const struct words *stage_words(const struct language *language, enum stage stage,
                                const sbr_request *req);
/* The command of the stage: of a session, its kernel's.  The input has a language. */
const struct words *stage_command_of(const struct plan_input *in);
/* False when the drivers of the language hold objects for another C library than the image's. */
bool stage_objects_run(const struct plan_input *in);
/* True when the stage's command or variables use the language's drivers. */
bool stage_uses_drivers(const struct plan_input *in);
/* Adds files to the directory of drivers that every stage has: those that `own`, a part of the
 * language's file, names (may be NULL), and those that no part names, if `common`. */
int plan_drivers(struct plan *plan, const struct plan_input *in, const struct words *own,
                 bool common, sbr_error *err) must_check;

/* Adds the operations and rules for all of that. */
int plan_stage(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* The values of the words in this stage's command; `source` is the main file inside, or NULL. */
int plan_stage_values(struct plan *plan, const struct plan_input *in, const char *source,
                      struct word_values *ret, sbr_error *err) must_check;

#endif
