/* The trees of a request as the executor would resolve them, without looking at the host. */
#ifndef TESTS_PLAN_TREES_H
#define TESTS_PLAN_TREES_H

#include "plan/planner.h"

#define PLAN_TREES_UPPER "/state/staging/ID/cow/0"
#define PLAN_TREES_COPY "/state/staging/ID/cow/1"
#define PLAN_TREES_WORKSPACE "/kept-workspace" /* as a plan that is only shown has it */

static inline struct plan_tree plan_tree_of(const char *source, const char *target,
                                            enum volume_mode mode, enum cow_kind cow)
{
    struct plan_tree tree = { .source = source, .target = target, .mode = mode, .cow = cow };

    if (mode == VOLUME_COW && cow == COW_COPY)
        tree.source = PLAN_TREES_COPY;
    if (mode == VOLUME_COW && cow == COW_DISK)
        tree.upper = PLAN_TREES_UPPER;
    return tree;
}

/* Sets in->trees and in->n_trees. */
static inline void plan_trees_fill(struct plan_input *in, struct plan_tree trees[PLAN_MAX_TREES])
{
    const sbr_request *req = in->request;
    const char *work = req->workspace ? PLAN_TREES_WORKSPACE : req->project;
    enum cow_kind cow = in->features->cow;
    size_t n = 0;

    if (work)
        trees[n++] = plan_tree_of(work, INSIDE_WORK, VOLUME_COW, cow);
    for (size_t i = 0; i < req->n_volumes; i++) {
        const struct request_volume *volume = &req->volumes[i];

        trees[n] = plan_tree_of(volume->source, volume->target, volume->mode, cow);
        trees[n++].sockets = volume->sockets;
    }
    for (size_t i = 0; i < n; i++)
        trees[i].collect =
            trees[i].mode == VOLUME_COW && (req->diff || req->keep || req->workspace);
    in->trees = trees;
    in->n_trees = n;
}

#endif
