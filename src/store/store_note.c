/* Small texts: a record of the name and the text; and remarks, which lie in entries. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/record.h"
#include "store/store_meta.h"
#include "store/store_root.h"

#define NOTE_MAGIC 0x31544e53   /* "SNT1": the number changes with the format */
#define REMARK_MAGIC 0x314b4d52 /* "RMK1" */
#define NOTE_RECORD_MAX (2 * STORE_NOTE_MAX)

static void note_path(const char *name, char path[STORE_NAME_SIZE])
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(name, strlen(name), hex);
    snprintf(path, STORE_NAME_SIZE, STORE_NOTES "/%s", hex);
}

int store_note_read(const char *name, char *buf, size_t size)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    scoped_record struct record record = { 0 };
    char path[STORE_NAME_SIZE];
    const char *of, *text;
    sbr_error ignored; /* no store, no notes */

    note_path(name, path);
    if (store_root_open(false, &root, &ignored) <= 0 ||
        record_read(root.fd, path, NOTE_MAGIC, NOTE_RECORD_MAX, &record) != 1)
        return -1;
    of = buf_reader_string(&record.fields);
    text = buf_reader_string(&record.fields);
    if (!of || strcmp(of, name) != 0 || !text || strlen(text) >= size)
        return -1;
    memcpy(buf, text, strlen(text) + 1);
    return (int)strlen(text);
}

bool store_keeps_notes(void)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    sbr_error ignored;

    return store_root_open(true, &root, &ignored) > 0;
}

void store_note_write(const char *name, const char *text)
{
    scoped_user_dir struct user_dir root = { .fd = -1 };
    scoped_fd int dir = -1;
    char path[STORE_NAME_SIZE];
    struct buf data;
    sbr_error ignored; /* as above */

    if (strlen(text) > STORE_NOTE_MAX || store_root_open(true, &root, &ignored) <= 0)
        return;
    note_path(name, path);
    record_begin(&data, NOTE_MAGIC, NOTE_RECORD_MAX);
    buf_put_string(&data, name);
    buf_put_string(&data, text);
    dir = openat(root.fd, STORE_NOTES, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (record_write(dir, strchr(path, '/') + 1, &data, RECORD_SHARED) < 0)
        return; /* a full disk keeps no notes */
}

int store_remark_write(int entry_fd, const char *text)
{
    struct buf data;

    record_begin(&data, REMARK_MAGIC, NOTE_RECORD_MAX);
    buf_put_string(&data, text);
    return record_write(entry_fd, REMARK_NAME, &data, RECORD_SHARED);
}

char *store_remark(const struct store_entry *entry)
{
    scoped_record struct record record = { 0 };
    scoped_fd int dir = -1;
    char path[STORE_PATH_SIZE];
    const char *text;

    snprintf(path, sizeof(path), "%.*s", (int)(strlen(entry->path) - strlen("/" TREE_NAME)),
             entry->path);
    dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || record_read(dir, REMARK_NAME, REMARK_MAGIC, NOTE_RECORD_MAX, &record) != 1)
        return NULL;
    text = buf_reader_string(&record.fields);
    return text ? strdup(text) : NULL;
}
