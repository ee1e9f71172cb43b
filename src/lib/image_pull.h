/* Brings an image into the store: fetched by skopeo and unpacked by tar, both in sandboxes of ours;
 * each part is compared with its digest. */
#ifndef LIB_IMAGE_PULL_H
#define LIB_IMAGE_PULL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/save.h"
#include "base/sha256.h"
#include "image/image_manifest.h"
#include "image/image_ref.h"
#include "image/image_store.h"
#include "lib/archive.h"
#include "model/request.h"
#include "sandboxrun.h"
#include "workspace/workspace.h"

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

/* An image of a daemon on this machine, Docker's or Podman's, as the archive that it saves. */

/* False also when there is no daemon. */
bool image_daemon_has(const char *name);
/* Writes the archive of the image `name` to a new file.  The daemon is the one of DOCKER_HOST
 * (unix:///PATH), or Docker's usual socket. */
int image_daemon_save(const char *name, int dir_fd, const char *file, sbr_error *err) must_check;

/* A directory in /var/tmp into which an image is fetched.
 *
 * The pull holds a lock on it, which the kernel drops with the process.  What a killed pull left is
 * taken over by the next pull of the same image, so that skopeo fetches no part twice, and
 * removed by a pull of any other image and by `image prune`. */
#define IMAGE_FETCH_DIR_SIZE 64

struct image_fetch_dir {
    int lock_fd;                     /* -1: there is none */
    char path[IMAGE_FETCH_DIR_SIZE]; /* removed at the end */
    char layout[IMAGE_FETCH_DIR_SIZE + 8];
};

int image_fetch_dir_open(const struct image_ref *ref, struct image_fetch_dir *ret, sbr_error *err)
    must_check;
void image_fetch_dir_done(struct image_fetch_dir *dir);
/* Removes what killed pulls of this user have left. */
void image_fetch_dir_sweep(void);

/* Where the parts of an image come from: an OCI layout of the host, or one that skopeo makes. */
struct image_fetch {
    int dir_fd;                  /* of the layout */
    struct image_fetch_dir made; /* where skopeo makes it, if it does */
};

int image_fetch_begin(const struct image_pull *pull, const struct image_ref *ref,
                      struct image_fetch *ret, sbr_error *err) must_check;
void image_fetch_done(struct image_fetch *fetch);

/* The hosts that apt may reach while it builds an image. */
#define IMAGE_MIRRORS_APT "/etc/apt" /* the host's configuration of apt */

/* Opens the hosts that the operator named, which may have private addresses: those of apt's
 * configuration, the proxies of the environment, and SANDBOX_RUN_REGISTRIES.  `sources` are lines
 * of an image's file, which others may have written: their names open public addresses only. */
int image_mirrors_allow(sbr_request *req, char **sources, unsigned int n_sources, sbr_error *err)
    must_check;

/* One layer of an image, unpacked onto the disk by tar in a sandbox. */

/* What the layers of an image may take of the disk together; more is a bomb. */
struct image_room {
    uint64_t max_size;   /* what the user gives it; 0: as its packed size allows */
    uint64_t packed;     /* of the layers that were compared with their digests */
    uint64_t used;       /* by those that were unpacked */
    uint64_t used_files; /* the same */
};
struct workspace_quota image_unpack_room(const struct image_room *room);

struct image_unpack {
    const sbr_runtime *rt;
    int fd;        /* the packed layer */
    uint64_t size; /* of it */
    struct image_room *room;
    const char *diff_id; /* SHA-256 of the archive in it */
    const char *dir;     /* of ours, empty */
    int dir_fd;
    /* Called now and then with the bytes of the packed layer that were read; may be NULL. */
    void (*show)(void *context, uint64_t done, uint64_t of);
    void *context;
};

/* Files keep their times and "executable", and all may read them.  A layer that differs from its
 * diff id, is a bomb or makes tar fail is refused; what it left in the directory is the caller's to
 * remove.  SBR_E_UNSUPPORTED: no sandbox can write to the directory; nothing was done. */
int image_unpack(const struct image_unpack *unpack, sbr_error *err);

/* Adds what a layer has become; it may be too much. */
int image_unpack_count(int tree_fd, struct image_room *room, sbr_error *err);

/* Writes an image for other tools: oci:DIR[:TAG], oci-archive:FILE[:TAG] or
 * docker-archive:FILE[:NAME]. */
struct image_export {
    const sbr_runtime *rt;
    const char *ref; /* an image of the store, or a directory with a root file system */
    const char *target;
    const struct save_trees *trees; /* whose links are not followed on the way to the target */
};

/* The image becomes one layer whose files belong to root.  A directory must be empty or missing; a
 * file is replaced once the new one is whole.  `digest`: of the manifest, or of Docker's
 * configuration. */
int image_export(const struct image_export *order, char digest[SHA256_HEX_SIZE], sbr_error *err);

/* The parts of an image as other tools read them: an OCI layout, or what is in an archive of
 * Docker's.  The same tree and configuration always make the same bytes. */
enum image_form {
    IMAGE_FORM_OCI,    /* with a layer that gzip packed */
    IMAGE_FORM_PLAIN,  /* the same without, for ourselves */
    IMAGE_FORM_DOCKER, /* manifest.json of `docker save` */
};

struct image_layout {
    const sbr_runtime *rt;
    struct archive_tree tree; /* all files, or those above `below` */
    /* The layer under that one, which is in the store already; NULL: the image has but one. */
    const struct image_layer *below;
    const struct image_config *config;
    const char *name; /* a tag, or the whole name for Docker; NULL: none */
    enum image_form form;
};

/* Writes into an empty directory.  `digest`: of the manifest, or of Docker's configuration. */
int image_layout_write(const struct image_layout *layout, int dir_fd, char digest[SHA256_HEX_SIZE],
                       sbr_error *err) must_check;

/* The newest time of a file in the tree, or $SOURCE_DATE_EPOCH if that is earlier.  Directories do
 * not count: they may have been made just now. */
int image_layout_newest(int tree_fd, int64_t *ret, sbr_error *err) must_check;

#endif
