/* Checks that the planner would make a blueprint that a client sent.
 *
 * The engine builds a blueprint with its own rights.  So it does not judge the parts of one: the
 * planner makes it again from the few things that a run can choose, and every byte must be equal.
 * Only what has no effect outside the sandbox is copied from the client's blueprint: size of the
 * scratch space, output patterns, and the variables of a driver whose language cannot change them
 * later.  Layers must be trees of the store.  Pure but for `identity` and `is_layer`. */
#ifndef PLAN_BLUEPRINT_CHECK_H
#define PLAN_BLUEPRINT_CHECK_H

#include "plan/planner.h"

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
