/* What a sandbox needs before its run is known.
 *
 * A plan has two parts: the *blueprint*, which many runs share and from which a sandbox can be made
 * ahead of time, and what only the request decides: the program's files, arguments, variables, work
 * directory and limits.  Pure: no system call. */
#ifndef PLAN_BLUEPRINT_H
#define PLAN_BLUEPRINT_H

#include "base/sha256.h"
#include "plan/plan.h"
#include "plan/planner.h"

/* Why a plan has no blueprint, for the log and --verbose; NULL when it has one. */
const char *blueprint_refusal(const struct plan *plan);

/* The blueprint of a plan.  `in` is the input of the plan; its language may have a driver for the
 * stage (language.h, struct warm_def).  The blueprint borrows from the plan and from `in`; the
 * caller frees it.  It has no OP_PROGRAM, no resource limits, the work directory /work, and as argv
 * the driver's command, or "-" without one. */
int blueprint_make(const struct plan *plan, const struct plan_input *in, struct plan **ret,
                   sbr_error *err) must_check;

/* A digest of the encoded blueprint and its cgroups: equal for interchangeable ones. */
int blueprint_key(const struct plan *plan, char key[SHA256_HEX_SIZE], sbr_error *err) must_check;
/* The same for a blueprint that is already encoded. */
void blueprint_key_of(const struct plan *blueprint, const struct buf *encoded,
                      char key[SHA256_HEX_SIZE]);

/* Checks that the planner would make a blueprint that a client sent.
 *
 * The engine builds a blueprint with its own rights.  So it does not judge the parts of one: the
 * planner makes it again from the few things that a run can choose, and every byte must be equal.
 * Only what has no effect outside the sandbox is copied from the client's blueprint: size of the
 * scratch space, output patterns, and the variables of a driver whose language cannot change them
 * later.  Layers must be trees of the store.  Pure but for `identity` and `is_layer`. */

/* What the client says that the blueprint is for. */
struct blueprint_claim {
    const struct language *language;   /* NULL: a command */
    const struct toolchain *toolchain; /* of the language, found by the engine */
    struct words needs;
    const struct plan_image *image; /* NULL: of the host's files */
    const struct plan_tree *trees;  /* of the image */
    size_t n_trees;
    enum stage stage;
    const struct policy *policy; /* one that a request can name */
    uint64_t memory_bytes;       /* a limit that some drivers get with their command */
    const struct features *features;
    const char *test_without; /* the engine's own; see struct plan_input */
    /* The identity of a mount's source, as blueprints store it. */
    uint64_t (*identity)(const char *path);
    /* True when the path is that of a layer in the store, or of the image's own packages. */
    bool (*is_layer)(void *context, enum layer layer, const char *path);
    void *context;
};

/* 0, or SBR_E_DENIED when the blueprints differ.  `given` includes its cgroups. */
int blueprint_check(const struct plan *given, const struct blueprint_claim *claim, sbr_error *err)
    must_check;

/* Sets `device` of each mount and copy to the identity of its source. */
void blueprint_mark_sources(struct plan *blueprint, uint64_t (*identity)(const char *path));

#endif
