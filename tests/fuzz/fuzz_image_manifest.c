/* The documents of an image: a manifest or an index, a NUL, a configuration.  64 zeros in the first
 * become the digest of the second, so that it is found. */
#include "fuzz.h"
#include "image/image_manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/sha256.h"

static char place[] = "/tmp/sandbox-run-fuzz-XXXXXX";

static void leave(void)
{
    char command[sizeof(place) + 16];

    snprintf(command, sizeof(command), "rm -rf %s", place);
    FUZZ_ASSERT(system(command) == 0);
}

static int open_place(void)
{
    static int fd = -1;

    if (fd >= 0)
        return fd;
    FUZZ_ASSERT(mkdtemp(place) && atexit(leave) == 0);
    fd = open(place, O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(fd >= 0 && mkdirat(fd, "blobs", 0700) == 0 &&
                mkdirat(fd, "blobs/sha256", 0700) == 0);
    return fd;
}

static void put(int dir_fd, const char *name, const char *text, size_t len)
{
    scoped_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    FUZZ_ASSERT(fd >= 0 && fd_write_all(fd, text, len) == 0);
}

static void put_config(int dir_fd, char *manifest, const char *config, size_t len, char *name,
                       size_t size)
{
    char zeros[65], digest[SHA256_HEX_SIZE], *at;
    struct sha256 sum;

    memset(zeros, '0', 64);
    zeros[64] = '\0';
    sha256_init(&sum);
    sha256_add(&sum, config, len);
    sha256_finish_hex(&sum, digest);
    at = strstr(manifest, zeros);
    if (at)
        memcpy(at, digest, 64);
    snprintf(name, size, "blobs/sha256/%s", digest);
    put(dir_fd, name, config, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), name[128];
    size_t first = strlen(text), second = first < size ? first + 1 : first;
    struct image_manifest manifest;
    int dir_fd = open_place();
    sbr_error err = { 0 };

    put_config(dir_fd, text, text + second, size - second, name, sizeof(name));
    put(dir_fd, "index.json", text, first);
    if (image_manifest_read(dir_fd, "", &manifest, &err) == 0) {
        FUZZ_ASSERT(manifest.n_layers && manifest.n_layers <= IMAGE_MAX_LAYERS);
        FUZZ_ASSERT(strlen(manifest.config_digest) == 64);
        image_manifest_done(&manifest);
    } else {
        FUZZ_ASSERT(err.code < 0 && err.message[0]);
    }
    unlinkat(dir_fd, name, 0);
    free(text);
    return 0;
}
