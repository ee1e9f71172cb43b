/* Brings an image into the store: fetched by skopeo and unpacked by tar, both in sandboxes of ours;
 * each part is compared with its digest. */
#ifndef LIB_IMAGE_PULL_H
#define LIB_IMAGE_PULL_H

#include <stdbool.h>

#include "base/err.h"
#include "sandboxrun.h"

struct image_pull {
    const sbr_runtime *rt;
    bool plain_http;   /* the registry has no TLS */
    uint64_t max_size; /* of all layers, unpacked; 0: as its packed size allows */
    /* One line for people; may be NULL. */
    void (*progress)(void *context, const char *line);
    /* A line that replaces the one before it, several times a second; may be NULL. */
    void (*live)(void *context, const char *line);
    void *context;
};

/* Whether it was there before does not matter: the name means what the registry has now. */
int image_pull(const struct image_pull *pull, const char *ref, char id[65], sbr_error *err)
    must_check;
/* An OCI layout that is here. */
struct image_here {
    int fd;
    const char *tag;
    bool ours;  /* nobody else can write to it */
    bool built; /* here, on top of an image of the store, whose layers it does not repeat */
};
/* The same for one, which gets no name. */
int image_pull_layout(const struct image_pull *pull, const struct image_here *layout, char id[65],
                      sbr_error *err) must_check;
/* Brings it in unless it is a path or is here already; `rt` is not looked at, a runtime is opened
 * when there is something to do. */
int image_pull_missing(struct image_pull *pull, const char *ref, sbr_error *err) must_check;
#endif
