/* The names of images: registry names, oci:DIR[:TAG], docker-archive:FILE, oci-archive:FILE,
 * docker-daemon:NAME. */
#ifndef IMAGE_IMAGE_REF_H
#define IMAGE_IMAGE_REF_H

#include "base/err.h"

#define IMAGE_REF_SIZE 1300

enum image_transport {
    IMAGE_REGISTRY,
    IMAGE_OCI,
    IMAGE_ARCHIVE,
    IMAGE_OCI_ARCHIVE,
    IMAGE_DAEMON,
    N_IMAGE_TRANSPORTS
};

struct image_ref {
    enum image_transport transport;
    char name[IMAGE_REF_SIZE]; /* complete, as in docker.io/library/debian:12; a path is absolute */
    char tag[130];             /* of IMAGE_OCI; empty: the only one */
    char host[260];            /* of IMAGE_REGISTRY, also with :PORT */
};

/* As it can be typed again. */
void image_ref_text(const struct image_ref *ref, char *buf, size_t size);
/* Paths begin at the current directory. */
int image_ref_parse(const char *text, struct image_ref *ret, sbr_error *err) must_check;

#endif
