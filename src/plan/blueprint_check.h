/* Whether a template that somebody sent is one that the planner makes.
 *
 * The engine builds what a template says, with its own rights.  So a template is not judged part by part: the planner
 * makes it once more of the few things that a run can choose, and every byte has to be the same.  Taken over from the
 * one that was sent is only what means nothing outside the sandbox: how large its scratch space is, which files are handed out of
 * it, and the variables of a driver whose language cannot change them later.  Layers have to be trees of the store.
 * Pure, but for what `identity` and `is_layer` do. */
#ifndef PLAN_BLUEPRINT_CHECK_H
#define PLAN_BLUEPRINT_CHECK_H

#include "plan/planner.h"

/* What the template is said to be of. */
struct blueprint_claim {
    const struct language *language;   /* NULL: a command              */
    const struct toolchain *toolchain; /* of the language, found by us */
    struct words needs;
    enum stage stage;
    const struct policy *policy; /* one that a request can name */
    uint64_t memory_bytes;       /* a limit that some drivers are told */
    const struct features *features;
    const char *test_without; /* of ours, see struct plan_input */
    /* What the source of a mount is, as templates have it. */
    uint64_t (*identity)(const char *path);
    /* Whether the path is that of a layer in the store. */
    bool (*is_layer)(void *context, enum layer layer, const char *path);
    void *context;
};

/* 0, or SBR_E_DENIED: it is another one.  `given` has its control groups. */
int blueprint_check(const struct plan *given, const struct blueprint_claim *claim, sbr_error *err)
    must_check;

/* Fills `device` of each mount and copy by the identity of its source. */
void blueprint_mark_sources(struct plan *template, uint64_t (*identity)(const char *path));

#endif
