#include "image/image_manifest.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/tree_remove.h"
#include "unit.h"

#define PADDING (1u << 20) /* a reader takes a while, so that somebody can write meanwhile */
#define GOOD "GOOD"
#define EVIL "EVIL"

struct scene {
    char path[64];
    int fd;
    char config[IMAGE_DIGEST_SIZE];
    char *text; /* of the configuration, with GOOD in it */
    size_t len, word;
    atomic_bool stop;
};

static void put(int dir_fd, const char *path, const char *text, size_t len)
{
    int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
}

static void put_blob(int dir_fd, const char *text, size_t len, char digest[IMAGE_DIGEST_SIZE])
{
    char path[IMAGE_DIGEST_SIZE + 16];
    struct sha256 sum;

    sha256_init(&sum);
    sha256_add(&sum, text, len);
    sha256_finish_hex(&sum, digest);
    snprintf(path, sizeof(path), "blobs/sha256/%s", digest);
    put(dir_fd, path, text, len);
}

static void make_config(struct scene *s)
{
    const char *head = "{\"rootfs\": {\"diff_ids\": [\"sha256:", *word;
    char *padding = malloc(PADDING + 1);
    int n;

    s->text = malloc(PADDING + 1000);
    assert_non_null(padding);
    assert_non_null(s->text);
    memset(padding, 'x', PADDING);
    padding[PADDING] = '\0';
    n = snprintf(s->text, PADDING + 1000,
                 "%s%064d\"]}, \"config\": {\"Cmd\": [\"%s\"], \"Labels\": {\"x\": \"%s\"}}}", head,
                 1, GOOD, padding);
    free(padding);
    word = strstr(s->text, GOOD);
    s->word = (size_t)(word - s->text);
    s->len = (size_t)n;
    put_blob(s->fd, s->text, s->len, s->config);
}

static int set_up(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));
    char digest[IMAGE_DIGEST_SIZE], text[1000];

    assert_non_null(s);
    snprintf(s->path, sizeof(s->path), "/tmp/sbr-manifest-XXXXXX");
    assert_non_null(mkdtemp(s->path));
    s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(s->fd >= 0);
    assert_int_equal(mkdirat(s->fd, "blobs", 0700), 0);
    assert_int_equal(mkdirat(s->fd, "blobs/sha256", 0700), 0);
    make_config(s);
    snprintf(
        text, sizeof(text),
        "{\"config\": {\"digest\": \"sha256:%s\"}, \"layers\": [{\"digest\": \"sha256:%064d\", "
        "\"size\": 5}]}",
        s->config, 2);
    put_blob(s->fd, text, strlen(text), digest);
    snprintf(text, sizeof(text), "{\"manifests\": [{\"digest\": \"sha256:%s\"}]}", digest);
    put(s->fd, "index.json", text, strlen(text));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    close(s->fd);
    assert_int_equal(tree_remove(AT_FDCWD, s->path), 0);
    free(s->text);
    free(s);
    return 0;
}

/* Writes one word and the other in turn into the configuration. */
static void *change(void *context)
{
    struct scene *s = context;
    char path[IMAGE_DIGEST_SIZE + 16];
    int fd;

    snprintf(path, sizeof(path), "blobs/sha256/%s", s->config);
    fd = openat(s->fd, path, O_WRONLY | O_CLOEXEC);
    for (unsigned int i = 0; fd >= 0 && !s->stop; i++) {
        (void)!pwrite(fd, i % 2 ? GOOD : EVIL, 4, (off_t)s->word);
        sched_yield();
    }
    close(fd);
    return NULL;
}

/* What is compared with a digest is what is parsed: no other words come under the image's id. */
static void a_configuration_that_changes_meanwhile_is_never_taken(void **state)
{
    struct scene *s = *state;
    unsigned int taken = 0, refused = 0;
    uint64_t end = clock_now_us() + 1500000;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, change, s), 0);
    while (clock_now_us() < end && (taken < 40 || refused < 40)) {
        struct image_manifest manifest;
        sbr_error err;

        if (image_manifest_read(s->fd, "", &manifest, &err) < 0) {
            refused++;
            continue;
        }
        taken++;
        assert_string_equal(manifest.config_digest, s->config);
        assert_string_equal(manifest.config.command.items[0], GOOD);
        image_manifest_done(&manifest);
    }
    s->stop = true;
    pthread_join(thread, NULL);
    assert_true(taken + refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_configuration_that_changes_meanwhile_is_never_taken,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
