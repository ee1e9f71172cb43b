#include "config/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/record.h"
#include "changes/state_dir.h"

#define STATE_TRUST "trust" /* SHA-256 of the path */
#define TRUST_MAGIC 0x54525553u
#define TRUST_MAX 8192

static bool read_item(int dir_fd, const char *name, struct trust_item *ret)
{
    scoped_record struct record record = { .data = NULL };
    const char *path, *digest;

    if (record_read(dir_fd, name, TRUST_MAGIC, TRUST_MAX, &record) != 1)
        return false;
    path = buf_reader_string(&record.fields);
    digest = buf_reader_string(&record.fields);
    if (record.fields.failed || !path || !digest || strlen(path) >= sizeof(ret->path) ||
        strlen(digest) != SHA256_HEX_SIZE - 1)
        return false;
    snprintf(ret->path, sizeof(ret->path), "%s", path);
    snprintf(ret->digest, sizeof(ret->digest), "%s", digest);
    return true;
}

static void name_of(const char *path, char name[SHA256_HEX_SIZE])
{
    sha256_hex(path, strlen(path), name);
}

bool trust_has(const char *path, const char *digest)
{
    struct state_dir dir = { .fd = -1 };
    char name[SHA256_HEX_SIZE];
    struct trust_item item;
    sbr_error ignored;
    bool has = false;

    name_of(path, name);
    if (state_open(STATE_TRUST, false, &dir, &ignored) == 1)
        has = read_item(dir.fd, name, &item) && !strcmp(item.path, path) &&
              !strcmp(item.digest, digest);
    state_close(&dir);
    return has;
}

int trust_add(const char *path, const char *digest, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    char name[SHA256_HEX_SIZE];
    struct buf data;
    int r = 0;

    name_of(path, name);
    if (state_open(STATE_TRUST, true, &dir, err) < 0)
        return err->code;
    record_begin(&data, TRUST_MAGIC, TRUST_MAX);
    buf_put_string(&data, path);
    buf_put_string(&data, digest);
    if (record_write(dir.fd, name, &data, RECORD_FLUSH | RECORD_SHARED) < 0)
        r = state_fail("write to", dir.path, err);
    state_close(&dir);
    return r;
}

int trust_revoke(const char *path, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    char name[SHA256_HEX_SIZE];
    int r = state_open(STATE_TRUST, false, &dir, err);

    if (r <= 0)
        return r;
    name_of(path, name);
    if (unlinkat(dir.fd, name, 0) < 0)
        r = errno == ENOENT ? 0 : state_fail("remove a file from", dir.path, err);
    state_close(&dir);
    return r;
}

int trust_list(trust_visit *visit, void *context, sbr_error *err)
{
    scoped_listing struct listing names = { .n = 0 };
    struct state_dir dir = { .fd = -1 };
    struct trust_item item;
    int r = state_open(STATE_TRUST, false, &dir, err);

    if (r == 1 && listing_read(dir.fd, &names) < 0)
        r = state_fail("list", dir.path, err);
    for (size_t i = 0; r == 1 && i < names.n; i++)
        if (read_item(dir.fd, names.names[i], &item))
            visit(context, &item);
    state_close(&dir);
    return r < 0 ? r : 0;
}
