#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "base/walk.h"

#define MAX_DEPTH 200
#define MAX_PATH 4096
#define TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define TYPE_CONFIG "application/vnd.oci.image.config.v1+json"
#define TYPE_LAYER "application/vnd.oci.image.layer.v1.tar"
#define LAYER "layer.tar" /* until its digest is known */

/* A part that was written: what a descriptor says of it. */
struct part {
    char digest[SHA256_HEX_SIZE];
    uint64_t size;
};

static int fail(const char *name, sbr_error *err)
{
    return err_set_errno(err, "export", "cannot write the part '%.100s' of the image", name);
}

static int see_time(void *context, const struct walk_entry *entry, sbr_error *err)
{
    int64_t *newest = context;

    (void)err;
    if (!S_ISDIR(entry->st.st_mode) && entry->st.st_mtim.tv_sec > *newest)
        *newest = entry->st.st_mtim.tv_sec;
    return 0;
}

int image_layout_newest(int tree_fd, int64_t *ret, sbr_error *err)
{
    const struct walk walk = { .visit = see_time,
                               .context = ret,
                               .stage = "export",
                               .max_depth = MAX_DEPTH,
                               .max_path = MAX_PATH };
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    uint64_t given;

    *ret = 0;
    if (walk_tree(tree_fd, &walk, err) < 0)
        return err->code;
    if (epoch && text_parse_count(epoch, &given) == TEXT_OK && given < (uint64_t)*ret)
        *ret = (int64_t)given;
    return 0;
}

static int write_file(int dir_fd, const char *path, const char *data, size_t len, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    return fd < 0 || fd_write_all(fd, data, len) < 0 ? fail(path, err) : 0;
}

/* Takes the document over.  An empty path: it becomes a blob by its digest. */
static int write_document(int dir_fd, const char *path, struct jsonw *j, struct part *ret,
                          sbr_error *err)
{
    scoped_free char *text = jsonw_take(j);
    char blob[SHA256_HEX_SIZE + 16];

    if (!text)
        return err_set_oom(err, "export");
    ret->size = strlen(text);
    sha256_hex(text, ret->size, ret->digest);
    snprintf(blob, sizeof(blob), "blobs/sha256/%s", ret->digest);
    return write_file(dir_fd, *path ? path : blob, text, ret->size, err);
}

static int sum_file(int fd, struct part *ret, sbr_error *err)
{
    scoped_free char *chunk = malloc(1u << 17);
    struct sha256 sum;
    ssize_t n = -1;

    if (!chunk)
        return err_set_oom(err, "export");
    sha256_init(&sum);
    ret->size = 0;
    if (lseek(fd, 0, SEEK_SET) == 0)
        while ((n = fd_read_full(fd, chunk, 1u << 17)) > 0) {
            sha256_add(&sum, chunk, (size_t)n);
            ret->size += (uint64_t)n;
        }
    sha256_finish_hex(&sum, ret->digest);
    return n < 0 || lseek(fd, 0, SEEK_SET) < 0 ? fail(LAYER, err) : 0;
}

/* The layer under its digest; `diff_id` is that of the archive in it. */
static int write_layer(const struct image_layout *layout, int dir_fd, struct part *ret,
                       char diff_id[SHA256_HEX_SIZE], sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, LAYER, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    struct archive_target to = { .fd = fd,
                                 .name = layout->form == IMAGE_FORM_OCI ? ".tar.gz" : ".tar" };
    char path[SHA256_HEX_SIZE + 16];

    if (fd < 0)
        return fail(LAYER, err);
    if (archive_pack(layout->rt, &layout->tree, &to, err) < 0 || sum_file(fd, ret, err) < 0)
        return err->code;
    memcpy(diff_id, ret->digest, SHA256_HEX_SIZE);
    if (layout->form == IMAGE_FORM_OCI && archive_digest(layout->rt, fd, diff_id, err) < 0)
        return err->code;
    snprintf(path, sizeof(path), layout->form == IMAGE_FORM_DOCKER ? "%s.tar" : "blobs/sha256/%s",
             ret->digest);
    return renameat(dir_fd, LAYER, dir_fd, path) < 0 ? fail(LAYER, err) : 0;
}

static void put_list(struct jsonw *j, const char *key, const struct string_list *list)
{
    if (!list->n)
        return;
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < list->n; i++)
        jsonw_text(j, NULL, list->items[i]);
    jsonw_close(j, ']');
}

static void put_program(struct jsonw *j, const struct image_config *config)
{
    jsonw_open(j, "config", '{');
    put_list(j, "Cmd", &config->command);
    put_list(j, "Entrypoint", &config->entrypoint);
    put_list(j, "Env", &config->env);
    if (config->user)
        jsonw_text(j, "User", config->user);
    if (config->workdir)
        jsonw_text(j, "WorkingDir", config->workdir);
    jsonw_close(j, '}');
}

static void put_diff_ids(struct jsonw *j, const struct image_layer *below, const char *diff_id)
{
    const char *ids[] = { below ? below->diff_id : diff_id, diff_id };
    char digest[SHA256_HEX_SIZE + 8];

    jsonw_open(j, "rootfs", '{');
    jsonw_open(j, "diff_ids", '[');
    for (size_t i = 0; i < (below ? 2 : 1); i++) {
        snprintf(digest, sizeof(digest), "sha256:%s", ids[i]);
        jsonw_text(j, NULL, digest);
    }
    jsonw_close(j, ']');
    jsonw_text(j, "type", "layers");
    jsonw_close(j, '}');
}

static int write_config(const struct image_layout *layout, int dir_fd, const char *diff_id,
                        struct part *ret, sbr_error *err)
{
    char created[40], path[SHA256_HEX_SIZE + 8] = "";
    time_t seconds = (time_t)layout->tree.newest;
    struct jsonw j;
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (layout->form == IMAGE_FORM_DOCKER)
        snprintf(path, sizeof(path), "config.json");
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "architecture", image_manifest_architecture());
    put_program(&j, layout->config);
    jsonw_text(&j, "created", created);
    jsonw_open(&j, "history", '[');
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "created", created);
    jsonw_text(&j, "created_by", "sandbox-run");
    jsonw_close(&j, '}');
    jsonw_close(&j, ']');
    jsonw_text(&j, "os", "linux");
    put_diff_ids(&j, layout->below, diff_id);
    jsonw_close(&j, '}');
    return write_document(dir_fd, path, &j, ret, err);
}

static void put_descriptor(struct jsonw *j, const char *key, const char *type,
                           const struct part *part)
{
    char digest[SHA256_HEX_SIZE + 8];

    snprintf(digest, sizeof(digest), "sha256:%s", part->digest);
    jsonw_open(j, key, '{');
    jsonw_text(j, "mediaType", type);
    jsonw_text(j, "digest", digest);
    jsonw_number(j, "size", part->size);
}

static void put_layer(struct jsonw *j, const struct image_layout *layout, const struct part *layer)
{
    put_descriptor(j, NULL, layout->form == IMAGE_FORM_OCI ? TYPE_LAYER "+gzip" : TYPE_LAYER,
                   layer);
    jsonw_close(j, '}');
}

static int write_manifest(const struct image_layout *layout, int dir_fd, const struct part *config,
                          const struct part *layer, struct part *ret, sbr_error *err)
{
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_number(&j, "schemaVersion", 2);
    jsonw_text(&j, "mediaType", TYPE_MANIFEST);
    put_descriptor(&j, "config", TYPE_CONFIG, config);
    jsonw_close(&j, '}');
    jsonw_open(&j, "layers", '[');
    if (layout->below) {
        struct part below = { .size = layout->below->size };

        memcpy(below.digest, layout->below->digest, sizeof(below.digest));
        put_layer(&j, layout, &below);
    }
    put_layer(&j, layout, layer);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    return write_document(dir_fd, "", &j, ret, err);
}

/* Written last: without it, the directory is no image. */
static int write_index(const struct image_layout *layout, int dir_fd, const struct part *manifest,
                       sbr_error *err)
{
    static const char version[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
    struct part ignored;
    struct jsonw j;

    if (write_file(dir_fd, "oci-layout", version, strlen(version), err) < 0)
        return err->code;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_number(&j, "schemaVersion", 2);
    jsonw_open(&j, "manifests", '[');
    put_descriptor(&j, NULL, TYPE_MANIFEST, manifest);
    if (layout->name) {
        jsonw_open(&j, "annotations", '{');
        jsonw_text(&j, "org.opencontainers.image.ref.name", layout->name);
        jsonw_close(&j, '}');
    }
    jsonw_close(&j, '}');
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    return write_document(dir_fd, "index.json", &j, &ignored, err);
}

static int write_docker(const struct image_layout *layout, int dir_fd, const struct part *layer,
                        sbr_error *err)
{
    char path[SHA256_HEX_SIZE + 8];
    struct part ignored;
    struct jsonw j;

    snprintf(path, sizeof(path), "%s.tar", layer->digest);
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '[');
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "Config", "config.json");
    jsonw_names(&j, "RepoTags", &layout->name, layout->name ? 1 : 0);
    jsonw_names(&j, "Layers", (const char *const[]){ path }, 1);
    jsonw_close(&j, '}');
    jsonw_close(&j, ']');
    return write_document(dir_fd, "manifest.json", &j, &ignored, err);
}

static int make_blobs(int dir_fd, sbr_error *err)
{
    static const char *const folders[] = { "blobs", "blobs/sha256" };

    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (mkdirat(dir_fd, folders[i], 0755) < 0)
            return fail(folders[i], err);
    return 0;
}

int image_layout_write(const struct image_layout *layout, int dir_fd, char digest[SHA256_HEX_SIZE],
                       sbr_error *err)
{
    bool docker = layout->form == IMAGE_FORM_DOCKER;
    struct part layer = { 0 }, config, manifest;
    char diff_id[SHA256_HEX_SIZE];

    if ((!docker && make_blobs(dir_fd, err) < 0) ||
        write_layer(layout, dir_fd, &layer, diff_id, err) < 0 ||
        write_config(layout, dir_fd, diff_id, &config, err) < 0)
        return err->code;
    memcpy(digest, config.digest, SHA256_HEX_SIZE);
    if (docker)
        return write_docker(layout, dir_fd, &layer, err);
    if (write_manifest(layout, dir_fd, &config, &layer, &manifest, err) < 0)
        return err->code;
    memcpy(digest, manifest.digest, SHA256_HEX_SIZE);
    return write_index(layout, dir_fd, &manifest, err);
}
