/* The YAML file that describes an image: ours by name, or one of the user's. */
#ifndef LIB_IMAGE_RECIPE_H
#define LIB_IMAGE_RECIPE_H

#include "base/document.h"
#include "base/err.h"

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
