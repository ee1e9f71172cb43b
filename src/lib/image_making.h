/* A tree of the image store that is being made: removed unless it was put in its place.  What a
 * killed process leaves is removed by the next one that makes a tree. */
#ifndef LIB_IMAGE_MAKING_H
#define LIB_IMAGE_MAKING_H

#include "base/document.h"
#include "base/encoding.h"
#include "base/err.h"
#include "base/string_list.h"
#include "base/user_dir.h"
#include "image/image_store.h"
#include "lib/image_pull.h"

struct image_making {
    const struct user_dir *root; /* of the store */
    int staging_fd;              /* of the folder of all */
    int lock_fd, tree_fd;
    char id[ENCODING_ID_SIZE];
    char tree[IMAGE_PATH_SIZE]; /* the path of tree_fd */
};

int image_making_begin(const struct user_dir *root, struct image_making *ret, sbr_error *err)
    must_check;
/* What another process put there first is the same. */
int image_making_place(struct image_making *making, const char *folder, const char *id,
                       sbr_error *err) must_check;
void image_making_done(struct image_making *making);

/* What the scripts of Debian's packages would compile, in an image whose packages are unpacked. */

/* Runs the image's own tools on its tree, without the network and without files of the host.  What
 * the image has no tool for is left as it is. */
int image_compile(const sbr_runtime *rt, const struct image_making *making, sbr_error *err)
    must_check;

/* Packages of a language in an image.
 *
 * What `run --dep` would install lies in the image itself, below IMAGE_PACKAGES, and a program of
 * that language has it as its dependencies: see image/image.h.  The installer is the language's
 * own, with the tools of the image and the registries of the user's configuration. */
struct image_packages {
    const sbr_runtime *rt;
    const char *image; /* the path of the files of an image that has the tools */
    const struct image_recipe *recipe;
};

/* Fills an empty tree with them, as a layer above that image. */
int image_packages_fill(const struct image_packages *packages, const struct image_making *making,
                        sbr_error *err) must_check;

/* Adds a line for each package of the image that has a newer version: NAME OLD NEW. */
int image_packages_outdated(const sbr_runtime *rt, const char *ref, struct string_list *ret,
                            sbr_error *err) must_check;

/* Images of Debian packages and packages of a language, described by a small YAML file. */
struct image_build {
    struct image_pull pull; /* the runtime, and the lines for people */
    const char *file;       /* a name that we ship (python), or the path of a YAML file */
    const char *tag;        /* NULL: localhost/NAME:latest */
};

/* The image is in the store under its tag.  The same packages make the same id. */
int image_build(const struct image_build *build, char ref[300], char id[65], sbr_error *err)
    must_check;

/* One line for each package of the image that has a newer version: NAME OLD NEW.  apt's sources are
 * those of `file`, or the host's (NULL): what the image itself names is not trusted. */
int image_build_outdated(const sbr_runtime *rt, const char *ref, const char *file,
                         struct string_list *ret, sbr_error *err) must_check;

/* The YAML file that describes an image: ours by name, or one of the user's. */
struct image_recipe {
    char *about, *workdir, *user;
    char *language; /* of `deps`; NULL: there are none */
    DOCUMENT_LIST(packages);
    DOCUMENT_LIST(deps);    /* packages of the language, as --dep takes them */
    DOCUMENT_LIST(sources); /* lines for apt; none: the host's */
    DOCUMENT_LIST(links);   /* "PATH TARGET" */
    DOCUMENT_LIST(env);
    DOCUMENT_LIST(command);
};

/* `file` is a name that we ship (python), or the path of a YAML file. */
int image_recipe_load(const char *file, struct image_recipe **ret, sbr_error *err) must_check;
void image_recipe_free(struct image_recipe *recipe); /* NULL is fine */

/* The name of the i-th image that we ship; NULL past the last. */
const char *image_recipe_name(size_t i);

#endif
