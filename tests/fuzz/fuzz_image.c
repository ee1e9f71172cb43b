/* Documents of an image and its name.  The first byte says what the rest is: a configuration, a
 * manifest, an index, a name, or a manifest or index, a NUL and a configuration.  64 zeros in the
 * first of the two become the digest of the second, so that it is found. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/tree_remove.h"
#include "fuzz.h"
#include "image/image_manifest.h"
#include "image/image_ref.h"

enum input { CONFIG, MANIFEST, INDEX, NAME, PAIR, N_INPUTS };

#define LAYER "1111111111111111111111111111111111111111111111111111111111111111"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void put(int dir_fd, const char *path, const void *data, size_t size)
{
    scoped_fd int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    FUZZ_ASSERT(fd >= 0 && fd_write_all(fd, data, size) == 0);
}

static void put_blob(int dir_fd, const void *data, size_t size, char digest[IMAGE_DIGEST_SIZE])
{
    char path[IMAGE_DIGEST_SIZE + 16];
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add(&sum, data, size);
    sha256_finish_hex(&sum, digest);
    snprintf(path, sizeof(path), "blobs/sha256/%s", digest);
    put(dir_fd, path, data, size);
}

/* The layout around one document: a manifest around a configuration, an index around that. */
static void make_layout(int dir_fd, enum input which, const uint8_t *data, size_t size)
{
    char config[IMAGE_DIGEST_SIZE], manifest[IMAGE_DIGEST_SIZE], text[400];

    if (which == CONFIG)
        put_blob(dir_fd, data, size, config);
    else
        snprintf(config, sizeof(config), LAYER);
    snprintf(text, sizeof(text),
             "{\"config\":{\"digest\":\"sha256:%s\"},\"layers\":[{\"digest\":\"sha256:" LAYER
             "\",\"size\":5}]}",
             config);
    if (which == MANIFEST)
        put_blob(dir_fd, data, size, manifest);
    else
        put_blob(dir_fd, text, strlen(text), manifest);
    snprintf(text, sizeof(text), "{\"manifests\":[{\"digest\":\"sha256:%s\"}]}", manifest);
    if (which == INDEX)
        put(dir_fd, "index.json", data, size);
    else
        put(dir_fd, "index.json", text, strlen(text));
}

static void make_pair(int dir_fd, const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), config[IMAGE_DIGEST_SIZE], *at = strstr(text, ZEROS);
    size_t first = strlen(text), second = first < size ? first + 1 : first;

    put_blob(dir_fd, text + second, size - second, config);
    if (at)
        memcpy(at, config, strlen(ZEROS));
    put(dir_fd, "index.json", text, first);
    free(text);
}

/* What is taken is the image of its id, with as many layers as there may be. */
static void check_documents(enum input which, const uint8_t *data, size_t size)
{
    char path[] = "/tmp/sbr-fuzz-XXXXXX";
    struct image_manifest manifest;
    sbr_error err = { 0 };
    int dir_fd;

    FUZZ_ASSERT(mkdtemp(path));
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(dir_fd >= 0 && mkdirat(dir_fd, "blobs", 0700) == 0 &&
                mkdirat(dir_fd, "blobs/sha256", 0700) == 0);
    if (which == PAIR)
        make_pair(dir_fd, data, size);
    else
        make_layout(dir_fd, which, data, size);
    if (image_manifest_read(dir_fd, "", &manifest, &err) == 0) {
        FUZZ_ASSERT(which == PAIR || (which == CONFIG && manifest.n_layers == 1));
        FUZZ_ASSERT(manifest.n_layers && manifest.n_layers <= IMAGE_MAX_LAYERS);
        FUZZ_ASSERT(strlen(manifest.layers[0].key) == 64 && strlen(manifest.config_digest) == 64);
        image_manifest_done(&manifest);
    } else {
        FUZZ_ASSERT(err.code < 0 && err.message[0]);
    }
    close(dir_fd);
    FUZZ_ASSERT(tree_remove(AT_FDCWD, path) == 0);
}

static void check_name(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), shown[IMAGE_REF_SIZE + 200];
    struct image_ref ref, again;
    sbr_error err = { 0 };

    FUZZ_ASSERT(text);
    if (image_ref_parse(text, &ref, &err) == 0) {
        image_ref_text(&ref, shown, sizeof(shown));
        FUZZ_ASSERT(image_ref_parse(shown, &again, &err) == 0);
        FUZZ_ASSERT(ref.transport == again.transport && !strcmp(ref.name, again.name) &&
                    !strcmp(ref.tag, again.tag));
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % N_INPUTS == NAME)
        check_name(data + 1, size - 1);
    else
        check_documents((enum input)(data[0] % N_INPUTS), data + 1, size - 1);
    return 0;
}
