/* What was kept of a run, and the journal of an apply, with a sum that is right: whoever writes there can make one.  The
 * first byte says which of the two it is. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "changes/changeset_meta.h"
#include "changes/journal.h"
#include "fuzz.h"

static char room[] = "/tmp/fuzz_kept.XXXXXX";
static int room_fd = -1;

static void remove_room(void)
{
    (void)tree_remove(AT_FDCWD, room);
}

static void make_room(void)
{
    FUZZ_ASSERT(mkdtemp(room));
    atexit(remove_room);
    room_fd = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(room_fd >= 0 && mkdirat(room_fd, "undo", 0700) == 0);
}

/* Not with keep_write_file, which waits for the disk. */
static void store(const char *name, const uint8_t *data, size_t size)
{
    int fd = openat(room_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct buf all;

    FUZZ_ASSERT(fd >= 0);
    buf_init(&all, size + 4096);
    buf_add(&all, data, size);
    keep_put_sum(&all);
    FUZZ_ASSERT(!all.failed && write(fd, all.data, all.len) == (ssize_t)all.len);
    buf_done(&all);
    close(fd);
}

static void check_meta(const uint8_t *data, size_t size)
{
    struct kept kept = { .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    sbr_error err;
    int r;

    store(KEEP_META, data, size);
    r = keep_meta_read(room_fd, &kept, &err);
    FUZZ_ASSERT(r == 1 || r == 0 || (r == err.code && err.message[0]));
    for (size_t i = 0; r == 1 && i < kept.changes.n; i++) {
        FUZZ_ASSERT(keep_is_path(kept.changes.items[i].path));
        FUZZ_ASSERT(kept.changes.items[i].root < kept.changes.n_roots);
    }
    changes_done(&kept.changes);
    output_files_done(&kept.files);
}

static void check_journal(const uint8_t *data, size_t size)
{
    struct kept kept = { .dir_fd = room_fd, .tree_fd = -1, .lock_fd = -1, .changes.n_roots = 2 };
    struct journal journal;
    sbr_error err;
    int r;

    store("undo/journal", data, size);
    r = journal_open(&kept, false, &journal, &err);
    FUZZ_ASSERT(r == 1 || r == 0 || (r == err.code && err.message[0]));
    for (size_t i = 0; r == 1 && i < journal.n; i++) {
        const struct journal_entry *one = &journal.items[i];

        FUZZ_ASSERT(one->root < 2 && (!*one->path || keep_is_path(one->path)) &&
                    !strchr(one->original, '/'));
    }
    if (r == 1)
        journal_close(&journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (room_fd < 0)
        make_room();
    if (size && data[0] % 2 == 0)
        check_meta(data + 1, size - 1);
    else if (size)
        check_journal(data + 1, size - 1);
    return 0;
}
