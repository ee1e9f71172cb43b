/* An image that a run takes its files from: a directory of the host, or one of the image store. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include "base/err.h"
#include "plan/plan_image.h"
#include "toolchain/tool_root.h"

#define IMAGE_MAX_NAMES 64
#define IMAGE_PATH_SIZE 1200
/* Where an image that we built has packages of languages: a directory for each. */
#define IMAGE_PACKAGES "/usr/lib/sandbox-run/packages"

struct image_tree {
    char *source; /* on the host */
    char *target; /* inside */
    bool is_file; /* shown read-only: only directories can be copy-on-write */
};

struct image {
    unsigned int users;        /* jobs that hold it */
    char id[80];               /* of the store; empty: a directory of the host */
    char top[IMAGE_PATH_SIZE]; /* where its files are */
    struct image_tree trees[PLAN_MAX_IMAGE_TREES];
    size_t n_trees;
    struct plan_image_name names[IMAGE_MAX_NAMES];
    struct plan_image plan;          /* points into this struct */
    struct string_list env, command; /* the entrypoint, and its words */
    size_t n_entrypoint;             /* of the command's words, the first ones */
    char *workdir, *user;            /* NULL: not given */
    struct plan_image_user user_found;
    struct tool_root root; /* for looking into it; points into this struct */
    int hold_fd;           /* while it is open, no process removes the image; -1: nothing to hold */
};

/* `ref` is a path ("/…", "./…") or a name of the store.  SBR_E_NOT_FOUND: the store has none.
 * Programs of a language (NULL: a command) have more names of ours at the top of their root. */
int image_open(const char *ref, const struct language *language, struct image **ret, sbr_error *err)
    must_check;
/* The same for the id of one in the store; does not wait for a process that removes it. */
int image_open_id(const char *id, const struct language *language, struct image **ret,
                  sbr_error *err) must_check;
/* Whether the image has the directory, however its links lead. */
bool image_has_directory(const struct image *image, const char *path);
/* Where in the image's root a path leads; what the image does not have is taken as it is. */
int image_place(const struct image *image, const struct language *language, const char *path,
                char ret[REQUEST_MAX_PATH + 1], sbr_error *err) must_check;
/* Whom the image's User means, by its own /etc/passwd and /etc/group.  False: it names none, or
 * root, whom no sandbox has. */
bool image_user_find(const struct image *image, struct plan_image_user *ret);
/* What USER[:GROUP] means by these tables; root is 0.  False: they do not have it, and it is no
 * number. */
bool image_user_look_up(const struct image *image, const char *user, struct plan_image_user *ret);
/* Finds out whether programs of the image can take our shared objects, if the language has some. */
void image_look_for_libc(struct image *image, const struct language *language);
/* The directory on the host with the packages that the image brings for a language; false: it
 * brings none.  Only an image of the store has some: nothing in it changes. */
bool image_packages_of(const struct image *image, const char *language, char *ret, size_t size);
/* One more user of it. */
struct image *image_hold(struct image *image);
void image_free(struct image *image); /* its last user frees it; NULL is fine */

/* Whether image_open finds it: 1 or 0, or negative for a name that is none. */
int image_is_here(const char *ref, sbr_error *err) must_check;
/* True for what names a directory of the host and nothing that can be fetched. */
bool image_is_path(const char *ref);

#endif
