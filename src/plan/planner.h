/* request + language + policy + features -> plan.  Pure: no system call, no global, no clock. */
#ifndef PLAN_PLANNER_H
#define PLAN_PLANNER_H

#include "model/request.h"
#include "model/secret.h"
#include "plan/features.h"
#include "plan/language.h"
#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/stage.h"
#include "plan/tools.h"

#define INSIDE_UID 1000
#define INSIDE_GID 1000
#define INSIDE_WORK "/work"
#define INSIDE_PROJECT "/project" /* the same tree for an installer, whose home is /work */

struct plan_image;

/* What a tree leaves out: an empty file or directory covers it. */
struct plan_mask {
    const char *path; /* below the tree */
    bool directory;
};

/* A file of the host that is copied into a root that has no /usr. */
struct plan_file {
    const char *from; /* on the host, absolute */
    const char *to;   /* relative to the root */
};

/* A tree that the program sees, as the job resolved it. */
struct plan_tree {
    const char *source; /* on the host; COW_COPY: the copy */
    const char *target; /* inside, absolute */
    enum volume_mode mode;
    bool sockets;        /* the program may connect to the host's sockets in it */
    bool plain;          /* VOLUME_RO without a view: it shows the host's own inodes */
    enum cow_kind cow;   /* of VOLUME_COW */
    const char *upper;   /* COW_DISK: see struct plan_op */
    struct inode_id was; /* the source when it was looked at, which is to be mounted */
    bool collect;        /* its changes are collected */
    bool names;          /* ... without the contents of files */
    bool image;          /* a part of the image, and of the root in every stage */
    const struct plan_mask *masks;
    size_t n_masks;
};

#define PLAN_MAX_IMAGE_TREES 24
#define PLAN_MAX_TREES (PLAN_MAX_IMAGE_TREES + 17)

struct plan_text {
    const char *data;
    size_t len;
};

/* What the sandbox trusts when its TLS ends on the way out. */
struct plan_trust {
    struct plan_text bundle, certificate, java; /* all roots; the run's own; a store, or empty */
};

struct plan_input {
    const sbr_request *request;
    const struct language *language;   /* NULL: the request's arguments are the command */
    const struct toolchain *toolchain; /* of the language */
    enum stage stage;
    const struct limits *limits;       /* of the stage; NULL: the request's */
    const char *layers[N_LAYERS];      /* trees on the host; NULL: none */
    struct words needs;                /* other paths of the host */
    const struct stage_config *config; /* of an installer; may be NULL */
    const struct secrets *secrets;     /* of the stage; may be NULL */
    const struct plan_trust *trust;    /* NULL: the plan is only shown */
    const struct policy *policy;
    const struct features *features;
    const struct plan_tree *trees; /* volumes and the tree at /work */
    size_t n_trees;
    const struct plan_image *image; /* NULL: the root has the host's /usr */
    const char *new_workdir;        /* one that the image lacks and that is made; NULL: none */
    /* The code's file name when the language's is taken; NULL: the language's. */
    const char *code_name;
    const struct request_file *manifests; /* of the project, for the installer */
    size_t n_manifests;
    const struct request_file *given; /* below /work, besides those of the request */
    size_t n_given;
    /* With some, they are all that can be executed: the commands that the request allows. */
    const struct plan_file *commands;
    size_t n_commands;
    bool collect_work;        /* all of /work is collected after the program */
    const char *run_dir;      /* a directory to make for a run without a private root */
    const char *test_without; /* see struct plan */
    const char *test_fail;
};

/* Where the program starts; `new_workdir` is not looked at. */
const char *plan_workdir(const struct plan_input *in);
/* Everything in the input must outlive the plan. */
int planner_make(const struct plan_input *in, struct plan **ret, sbr_error *err) must_check;

#endif
