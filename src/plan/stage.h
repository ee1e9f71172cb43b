/* The stages of one job, and what each of them is given besides the program: tools, layers that earlier
 * stages made, drivers, and for an installer the network with its client's configuration. */
#ifndef PLAN_STAGE_H
#define PLAN_STAGE_H

#include "base/err.h"
#include "model/network.h"
#include "plan/words.h"

enum stage { STAGE_RUN, STAGE_PREPARE, STAGE_INSTALL, STAGE_COMPILE, STAGE_CHECK, N_STAGES };

/* As the result names it. */
const char *stage_name(enum stage stage);
/* The part of the language's file, or NULL for the program's own stage. */
const struct stage_def *stage_def(const struct language *language, enum stage stage);

/* What stages leave for later ones: a tree each. */
enum layer { LAYER_PREPARED, LAYER_DEPS, LAYER_BUILD, N_LAYERS };

/* A file of the host's that configures a client, read by the supervisor. */
struct config_file {
    char *path; /* inside, absolute */
    char *data;
    size_t len;
};

struct stage_config {
    struct config_file *files;
    size_t n_files;
    struct words env; /* NAME=VALUE */
    struct network
        network; /* the registries that the clients are configured for, and nothing else */
};

struct plan;
struct plan_input;

/* Whether /work is a project or a workspace in this stage: what prepares and installs does not see it. */
bool stage_sees_work(const struct plan_input *in);

/* Whether the stage's command finds the language's drivers by their names. */
bool stage_uses_drivers(const struct plan_input *in);
/* Their files, in the directory that every stage has. */
int plan_drivers(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;

/* Operations and rules for all of that. */
int plan_stage(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* What the words of this stage's command stand for; `source` is the main file inside, or NULL. */
int plan_stage_values(struct plan *plan, const struct plan_input *in, const char *source,
                      struct word_values *ret, sbr_error *err) must_check;

#endif
