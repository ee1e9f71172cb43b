/* What was kept of a run, and the journal of an apply, with a sum that is right: whoever writes
 * there can make one.  The first byte says which of the two it is. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "changes/apply_plan.h"
#include "changes/changeset_meta.h"
#include "fuzz.h"

static char room[] = "/tmp/fuzz_kept.XXXXXX";
static int disk_usage_fd = -1;

static void remove_room(void)
{
    (void)tree_remove(AT_FDCWD, room);
}

static void make_room(void)
{
    FUZZ_ASSERT(mkdtemp(room));
    atexit(remove_room);
    disk_usage_fd = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(disk_usage_fd >= 0 && mkdirat(disk_usage_fd, "undo", 0700) == 0);
}

/* Not with record_write, which waits for the disk. */
static void store(const char *name, const uint8_t *data, size_t size)
{
    int fd = openat(disk_usage_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct buf all;

    FUZZ_ASSERT(fd >= 0);
    buf_init(&all, size + 4096);
    buf_add(&all, data, size);
    record_finish(&all);
    FUZZ_ASSERT(!all.failed && write(fd, all.data, all.len) == (ssize_t)all.len);
    buf_done(&all);
    close(fd);
}

static void check_meta(const uint8_t *data, size_t size)
{
    struct changeset changeset = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    sbr_error err;
    int r;

    store(CHANGESET_META, data, size);
    r = changeset_meta_read(disk_usage_fd, &changeset, &err);
    FUZZ_ASSERT(r == 1 || r == 0 || (r == err.code && err.message[0]));
    for (size_t i = 0; r == 1 && i < changeset.changes.n; i++) {
        FUZZ_ASSERT(changeset_is_path(changeset.changes.items[i].path));
        FUZZ_ASSERT(changeset.changes.items[i].root < changeset.changes.n_roots);
    }
    changes_done(&changeset.changes);
    output_files_done(&changeset.files);
}

static void check_journal(const uint8_t *data, size_t size)
{
    struct changeset changeset = {
        .dir_fd = disk_usage_fd, .tree_fd = -1, .lock_fd = -1, .changes.n_roots = 2
    };
    struct journal journal;
    sbr_error err;
    int r;

    store("undo/journal", data, size);
    r = journal_open(&changeset, false, &journal, &err);
    FUZZ_ASSERT(r == 1 || r == 0 || (r == err.code && err.message[0]));
    for (size_t i = 0; r == 1 && i < journal.n; i++) {
        const struct journal_entry *one = &journal.items[i];

        FUZZ_ASSERT(one->root < 2 && (!*one->path || changeset_is_path(one->path)) &&
                    !strchr(one->original, '/'));
    }
    if (r == 1)
        journal_close(&journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (disk_usage_fd < 0)
        make_room();
    if (size && data[0] % 2 == 0)
        check_meta(data + 1, size - 1);
    else if (size)
        check_journal(data + 1, size - 1);
    return 0;
}
