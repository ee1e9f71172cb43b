#include "image/image_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "base/text.h"

/* A layer, a platform or a line of the history has a dozen values; an image has at most 128 layers.
 * The largest index seen names 600 platforms and attestations. */
static const struct json_bounds document_bounds = {
    .bytes = 4u << 20,
    .values = 20000,
    .depth = 32,
};

#define INDEXES_MAX 4 /* an index may name another */

static int wrong(const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "image", "the image is not as OCI images are: %s", what);
}

void image_manifest_done(struct image_manifest *manifest)
{
    image_config_done(&manifest->config);
}

static int digest_of(const json_t *descriptor, const char *key, char ret[IMAGE_DIGEST_SIZE],
                     sbr_error *err)
{
    const char *text =
        key ? json_string_value(json_object_get(descriptor, key)) : json_string_value(descriptor);

    if (!text || strncmp(text, "sha256:", 7) != 0 || !encoding_is_hex(text + 7, 64))
        return wrong("a digest is no SHA-256", err);
    memcpy(ret, text + 7, IMAGE_DIGEST_SIZE);
    return 0;
}

static int compare_sum(struct sha256 *sum, const char *digest, sbr_error *err)
{
    char found[SHA256_HEX_SIZE];

    sha256_finish_hex(sum, found);
    if (strcmp(found, digest) == 0)
        return 0;
    return err_set(err, SBR_E_INVALID, "image",
                   "a part of the image has other bytes than its digest %.12s… says; nothing of it "
                   "is taken",
                   digest);
}

static int open_blob(int dir_fd, const char *digest, sbr_error *err)
{
    char path[IMAGE_DIGEST_SIZE + 16];
    scoped_fd int fd = -1;
    struct stat st;

    snprintf(path, sizeof(path), "blobs/sha256/%s", digest);
    fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "image", "the part %.12s… of the image is missing", digest);
    return S_ISREG(st.st_mode) ? take_fd(fd) : wrong("a part of it is no file", err);
}

/* A file of holes stays one: a small layout takes no large part of the disk. */
static int write_sparsely(int fd, const char *chunk, size_t len)
{
    if (chunk[0] == 0 && memcmp(chunk, chunk + 1, len - 1) == 0) {
        off_t end = lseek(fd, (off_t)len, SEEK_CUR);

        return end < 0 ? -1 : ftruncate(fd, end);
    }
    return fd_write_all(fd, chunk, len);
}

/* Reads all of it once, and at most one byte more than the manifest says; `copy` gets the bytes
 * that were compared. */
static int compare_layer(int fd, const struct image_layer *layer, int copy, sbr_error *err)
{
    scoped_free char *chunk = malloc(1u << 17);
    uint64_t size = 0;
    struct sha256 sum;
    ssize_t n = -1;

    if (!chunk)
        return err_set_oom(err, "image");
    sha256_init(&sum);
    while (size <= layer->size && (n = fd_read_full(fd, chunk, 1u << 17)) > 0) {
        sha256_add(&sum, chunk, (size_t)n);
        size += (uint64_t)n;
        if (copy >= 0 && write_sparsely(copy, chunk, (size_t)n) < 0)
            return err_set_errno(err, "image", "cannot copy a layer to the cache");
    }
    if (n < 0 || lseek(copy >= 0 ? copy : fd, 0, SEEK_SET) < 0)
        return err_set_errno(err, "image", "cannot read a part of the image");
    if (size != layer->size)
        return err_set(err, SBR_E_INVALID, "image",
                       "the layer %.12s… has %s%llu bytes, but the manifest says another number; "
                       "nothing of the image is taken",
                       layer->digest, n > 0 ? "at least " : "", (unsigned long long)size);
    return compare_sum(&sum, layer->digest, err);
}

int image_manifest_layer(int dir_fd, const struct image_layer *layer, int copy_fd, sbr_error *err)
{
    scoped_fd int fd = open_blob(dir_fd, layer->digest, err), copy = -1;

    if (fd < 0)
        return err->code;
    if (copy_fd >= 0) {
        copy = openat(copy_fd, "blob", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (copy < 0 || unlinkat(copy_fd, "blob", 0) < 0)
            return err_set_errno(err, "image", "cannot copy a layer to the cache");
    }
    if (compare_layer(fd, layer, copy, err) < 0)
        return err->code;
    return copy >= 0 ? take_fd(copy) : take_fd(fd);
}

static json_t *parse(const char *text, size_t len, sbr_error *err)
{
    sbr_error fault;
    json_t *json =
        json_read(text, len, &document_bounds, JSON_REJECT_DUPLICATES, "a document", &fault);

    if (!json) {
        wrong(fault.message, err);
    } else if (!json_is_object(json)) {
        json_decref(json);
        wrong("a document is no JSON object", err);
        return NULL;
    }
    return json;
}

/* What is compared is what is parsed: somebody may write to the layout meanwhile. */
static json_t *read_blob(int dir_fd, const char *digest, sbr_error *err)
{
    scoped_fd int fd = open_blob(dir_fd, digest, err);
    scoped_free char *text = NULL;
    struct sha256 sum;
    size_t len = 0;

    if (fd < 0 || fd_read_text(fd, document_bounds.bytes, &text, &len, err) < 0)
        return NULL;
    sha256_init(&sum);
    sha256_add(&sum, text, len);
    return compare_sum(&sum, digest, err) < 0 ? NULL : parse(text, len, err);
}

static json_t *read_index(int dir_fd, sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, "index.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    scoped_free char *text = NULL;
    size_t len = 0;

    if (fd < 0) {
        err_set_errno(err, "image", "there is no OCI image: cannot read its index.json");
        return NULL;
    }
    return fd_read_text(fd, document_bounds.bytes, &text, &len, err) < 0 ? NULL
                                                                         : parse(text, len, err);
}

const char *image_manifest_architecture(void)
{
    static struct utsname machine;

    if (uname(&machine) < 0)
        return "";
    if (!strcmp(machine.machine, "x86_64"))
        return "amd64";
    return !strcmp(machine.machine, "aarch64") ? "arm64" : machine.machine;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool fits(const json_t *one, const char *tag)
{
    const json_t *platform = json_object_get(one, "platform");
    const char *architecture = text_of(platform, "architecture"), *os = text_of(platform, "os");
    const char *name = json_string_value(
        json_object_get(json_object_get(one, "annotations"), "org.opencontainers.image.ref.name"));

    if (tag[0] && (!name || strcmp(name, tag) != 0))
        return false;
    return (!os || !strcmp(os, "linux")) &&
           (!architecture || !strcmp(architecture, image_manifest_architecture()));
}

/* True for an image that every machine of the architecture can run. */
static bool is_common(const json_t *one)
{
    const char *variant = text_of(json_object_get(one, "platform"), "variant");

    return !variant || !*variant || !strcmp(variant, "v1") || !strcmp(variant, "v8");
}

/* The last of `n` manifests that fit. */
static const json_t *find_fitting(const json_t *index, const char *tag, bool common, size_t *n)
{
    const json_t *found = NULL, *one;
    size_t i;

    *n = 0;
    json_array_foreach(json_object_get(index, "manifests"), i, one)
        if (fits(one, tag) && is_common(one) == common) {
            found = one;
            (*n)++;
        }
    return found;
}

/* The one manifest of an index that fits, before those for newer machines; a second one is a reason
 * to ask. */
static const json_t *choose(const json_t *index, const char *tag, sbr_error *err)
{
    size_t n;
    const json_t *found = find_fitting(index, tag, true, &n);

    if (!n)
        found = find_fitting(index, tag, false, &n);
    if (n > 1)
        err_set(err, SBR_E_INVALID, "image",
                "there is more than one image in it; name one, as in oci:DIR:TAG");
    else if (!n)
        err_set(err, SBR_E_NOT_FOUND, "image", "there is no image %s%s%s%s in it", tag,
                tag[0] ? " " : "", "for ", image_manifest_architecture());
    return n == 1 ? found : NULL;
}

static int read_texts(const json_t *array, struct string_list *ret, sbr_error *err)
{
    const json_t *one;
    size_t i;

    if (array && !json_is_null(array) && !json_is_array(array))
        return wrong("a list of words is none", err);
    json_array_foreach(array, i, one) {
        const char *text = json_string_value(one);

        if (!text || strlen(text) != json_string_length(one))
            return wrong("a word is no text", err);
        if (string_list_add(ret, text, err) < 0)
            return err->code;
    }
    return 0;
}

/* Both digests, because either alone proves less: who knows a diff id need not have the layer. */
static void set_key(struct image_layer *layer)
{
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add_text(&sum, layer->digest);
    sha256_add_text(&sum, layer->diff_id);
    sha256_finish_hex(&sum, layer->key);
}

static int read_config(const json_t *json, struct image_manifest *ret, sbr_error *err)
{
    const json_t *config = json_object_get(json, "config");
    const json_t *diff_ids = json_object_get(json_object_get(json, "rootfs"), "diff_ids");
    const char *workdir = json_string_value(json_object_get(config, "WorkingDir"));
    const char *user = json_string_value(json_object_get(config, "User"));
    const char *architecture = text_of(json, "architecture"), *os = text_of(json, "os");

    if (os && strcmp(os, "linux") != 0)
        return err_set(err, SBR_E_UNSUPPORTED, "image", "the image is no image of Linux");
    if (json_array_size(diff_ids) != ret->n_layers)
        return wrong("it has not one diff id for each layer", err);
    for (size_t i = 0; i < ret->n_layers; i++) {
        if (digest_of(json_array_get(diff_ids, i), NULL, ret->layers[i].diff_id, err) < 0)
            return err->code;
        set_key(&ret->layers[i]);
    }
    text_copy_visibly(ret->architecture, sizeof(ret->architecture),
                      architecture ? architecture : "", architecture ? strlen(architecture) : 0);
    if ((workdir && workdir[0] == '/' && !(ret->config.workdir = strdup(workdir))) ||
        (user && user[0] && !(ret->config.user = strdup(user))))
        return err_set_oom(err, "image");
    if (read_texts(json_object_get(config, "Env"), &ret->config.env, err) < 0 ||
        read_texts(json_object_get(config, "Entrypoint"), &ret->config.entrypoint, err) < 0)
        return err->code;
    return read_texts(json_object_get(config, "Cmd"), &ret->config.command, err);
}

static int read_layers(const json_t *manifest, struct image_manifest *ret, sbr_error *err)
{
    const json_t *layers = json_object_get(manifest, "layers"), *one;
    size_t i;

    if (!json_array_size(layers) || json_array_size(layers) > IMAGE_MAX_LAYERS)
        return wrong("it has no layer, or more than 128", err);
    json_array_foreach(layers, i, one) {
        struct image_layer *layer = &ret->layers[i];

        if (digest_of(one, "digest", layer->digest, err) < 0)
            return err->code;
        layer->size = (uint64_t)json_integer_value(json_object_get(one, "size"));
    }
    ret->n_layers = json_array_size(layers);
    return digest_of(json_object_get(manifest, "config"), "digest", ret->config_digest, err);
}

/* Follows indexes to a manifest; takes `json` over. */
static json_t *find_manifest(int dir_fd, json_t *json, const char *tag, sbr_error *err)
{
    for (unsigned int i = 0; json && json_object_get(json, "manifests"); i++) {
        char digest[IMAGE_DIGEST_SIZE];
        const json_t *one = i < INDEXES_MAX ? choose(json, i ? "" : tag, err) : NULL;

        if (i == INDEXES_MAX)
            wrong("its indexes name one another", err);
        if (!one || digest_of(one, "digest", digest, err) < 0) {
            json_decref(json);
            return NULL;
        }
        json_decref(json);
        json = read_blob(dir_fd, digest, err);
    }
    return json;
}

int image_manifest_read(int dir_fd, const char *tag, struct image_manifest *ret, sbr_error *err)
{
    json_t *manifest, *config = NULL;
    int r = 0;

    *ret = (struct image_manifest){ 0 };
    manifest = find_manifest(dir_fd, read_index(dir_fd, err), tag, err);
    if (!manifest || read_layers(manifest, ret, err) < 0)
        r = err->code;
    if (r == 0 && !(config = read_blob(dir_fd, ret->config_digest, err)))
        r = err->code;
    if (r == 0)
        r = read_config(config, ret, err);
    if (r == 0 && ret->architecture[0] &&
        strcmp(ret->architecture, image_manifest_architecture()) != 0)
        r = err_set(err, SBR_E_UNSUPPORTED, "image", "the image is for %s; this machine is %s",
                    ret->architecture, image_manifest_architecture());
    json_decref(manifest);
    json_decref(config);
    if (r < 0)
        image_manifest_done(ret);
    return r;
}
