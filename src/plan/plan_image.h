/* A root that is made of an image in place of the host's /usr. */
#ifndef PLAN_PLAN_IMAGE_H
#define PLAN_PLAN_IMAGE_H

#include "plan/plan.h"
#include "plan/planner.h"

/* The names at the image's top that are no trees of their own: links, and empty directories. */
struct plan_image_name {
    const char *name;
    const char *link; /* what it leads to; NULL: an empty directory */
};

/* What the image calls the one user of the sandbox. */
struct plan_image_user {
    uint32_t uid, gid;
    char name[65];  /* empty: none */
    char home[256]; /* a directory of the image; empty: none */
};

struct plan_image {
    const struct plan_image_name *names;
    size_t n_names;
    const struct string_list *env;      /* NAME=VALUE, below the request's */
    const struct string_list *command;  /* for a request that has none */
    const char *path;                   /* of those, the value of PATH */
    const struct plan_image_user *user; /* NULL: it names none, or root */
    bool runs_objects;                  /* its C library takes our shared objects */
    bool kept;                          /* in the store: nothing in it changes */
    const char *workdir; /* for a request that brings nothing to /work; may be NULL */
    bool has_workdir;    /* it is there; otherwise it is made */
};

/* The image's trees and names.  Its own files in /etc stay, but for what names the network. */
int plan_image_root(struct plan *plan, const struct plan_input *in, sbr_error *err) must_check;
/* True when a name at the top of the root is ours, whatever the image has there; programs of a
 * language (NULL: a command) have more of them. */
bool plan_image_is_ours(const char *name, const struct language *language);

/* The program may write to `path`, which the plan keeps. */
int plan_image_writable(struct plan *plan, const char *path, sbr_error *err) must_check;

#endif
