/* What the configuration of an installer adds to the key of its layer: everything that decides
 * where packages come from, and no credential.  Salted with a secret of the store, because a
 * program inside sees the key in its list of mounts and could otherwise test guesses of a
 * credential that was not recognised. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "store/store.h"
#include "toolchain/client_config_key.h"
#include "toolchain/registries.h"

#define SALT_NOTE "salt of the keys of layers"
#define PLAIN_MAX (1 << 20)
#define MAX_ENTRIES 20000
#define MAX_DEPTH 8

void client_config_key_begin(struct config_key *key)
{
    char salt[ENCODING_ID_SIZE * 2] = "", again[sizeof(salt)];
    char half[2][ENCODING_ID_SIZE];

    sha256_init(&key->sum);
    key->failed = false;
    if (store_note_read(SALT_NOTE, salt, sizeof(salt)) <= 0) {
        if (encoding_random_id(half[0]) < 0 || encoding_random_id(half[1]) < 0)
            key->failed = true;
        else
            snprintf(salt, sizeof(salt), "%s%s", half[0], half[1]);
        store_note_write(SALT_NOTE, salt);
        if (store_note_read(SALT_NOTE, again, sizeof(again)) > 0)
            memcpy(salt, again, sizeof(salt)); /* another process may have written last */
    }
    sha256_add_text(&key->sum, salt);
}

void client_config_key_text(struct config_key *key, const char *name, const char *data, size_t len)
{
    struct buf plain;

    sha256_add_text(&key->sum, name);
    if (registries_is_secret_file(name))
        return;
    buf_init(&plain, PLAIN_MAX + 1);
    registries_add_plain(&plain, data, len);
    key->failed |= plain.failed;
    sha256_add_u64(&key->sum, plain.len);
    sha256_add(&key->sum, plain.data ? plain.data : "", plain.len);
    buf_done(&plain);
}

/* The order of entries is not defined, so their digests are combined by XOR. */
struct place {
    struct config_key *key;
    unsigned int left, depth;
    unsigned char all[SHA256_SIZE];
};

static void add_directory(struct place *place, int fd, const struct sha256 *above);

/* Every change updates ctime, even when other times are set back. */
static void add_entry(struct place *place, int fd, const char *name, const struct sha256 *above)
{
    unsigned char digest[SHA256_SIZE];
    struct sha256 sum = *above;
    struct stat st;

    sha256_add_text(&sum, name);
    if (fstatat(fd, name, &st, 0) < 0)
        st = (struct stat){ 0 };
    if (S_ISDIR(st.st_mode)) {
        place->depth++;
        add_directory(place, openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &sum);
        place->depth--;
    }
    sha256_add_u64(&sum, st.st_mode);
    sha256_add_u64(&sum, S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size);
    sha256_add_u64(&sum, (uint64_t)st.st_ctim.tv_sec);
    sha256_add_u64(&sum, (uint64_t)st.st_ctim.tv_nsec);
    sha256_finish(&sum, digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        place->all[i] ^= digest[i];
}

static void add_directory(struct place *place, int fd, const struct sha256 *above)
{
    scoped_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return; /* the client cannot read it either */
    }
    while ((entry = readdir(dir))) {
        if (tree_is_dots(entry->d_name))
            continue;
        if (place->left == 0 || place->depth == MAX_DEPTH) {
            place->key->failed = true;
            return;
        }
        place->left--;
        add_entry(place, fd, entry->d_name, above);
    }
}

void client_config_key_directory(struct config_key *key, const char *path)
{
    struct place place = { .key = key, .left = MAX_ENTRIES };
    struct sha256 top;

    sha256_init(&top);
    add_directory(&place, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &top);
    sha256_add_text(&key->sum, path);
    sha256_add(&key->sum, place.all, sizeof(place.all));
}

void client_config_key_finish(struct config_key *key, char hex[SHA256_HEX_SIZE])
{
    char id[ENCODING_ID_SIZE] = "";

    if (key->failed && encoding_random_id(id) == 0)
        sha256_add_text(&key->sum, id); /* something was not read: the key must be unique */
    sha256_finish_hex(&key->sum, hex);
}
