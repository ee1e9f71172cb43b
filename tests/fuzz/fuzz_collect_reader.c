/* A tree as a sandbox hands it out, in pieces of any size: nothing outside the directory is
 * touched, and what is kept is within its bounds. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "fuzz.h"
#include "monitor/collect_reader.h"
#include "store/store_tree.h"

#define MAX_BYTES 4096
#define MAX_ENTRIES 64
#define N_PARTS 3

/* Two directories above each other: what a stream could reach by one `..` too many is in the outer
 * one. */
static char room[] = "/tmp/fuzz_intake.XXXXXX", tree[sizeof(room) + 8];

static void remove_room(void)
{
    (void)rmdir(room);
}

static int make_tree(void)
{
    int fd;

    if (!tree[0]) {
        FUZZ_ASSERT(mkdtemp(room));
        atexit(remove_room);
        snprintf(tree, sizeof(tree), "%s/tree", room);
    }
    FUZZ_ASSERT(mkdir(tree, 0755) == 0);
    fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(fd >= 0);
    return fd;
}

/* The first byte says how large the pieces are. */
static void feed(struct collect_reader *collect_reader, const uint8_t *data, size_t size)
{
    size_t piece = size && data[0] ? data[0] : size;

    for (size_t at = 1; at < size; at += piece)
        collect_reader_take(collect_reader, data + at, size - at < piece ? size - at : piece);
}

/* With a list, holes may add to what the files say they are. */
static void check_tree(const struct collect_reader *collect_reader)
{
    struct store_tree_scan scan;
    sbr_error err;

    FUZZ_ASSERT(collect_reader->depth >= 0 && collect_reader->depth <= COLLECT_MAX_DEPTH);
    FUZZ_ASSERT(collect_reader->bytes <= MAX_BYTES && collect_reader->entries <= MAX_ENTRIES + 1);
    /* A refused one may stop anywhere, but never beyond what is allowed. */
    if (store_tree_scan(AT_FDCWD, tree, false, &scan, &err) == 0) {
        FUZZ_ASSERT(scan.bytes <= MAX_BYTES * COLLECT_SIZE_PER_BYTE &&
                    scan.files <= MAX_ENTRIES + N_PARTS);
        FUZZ_ASSERT(!collect_reader->failure.code || collect_reader->failure.message[0]);
    } else {
        FUZZ_ASSERT(strstr(err.message, "too long") || err.code == SBR_E_NO_MEMORY);
    }
    store_tree_scan_done(&scan);
}

/* Whole or with a reason; every path of a list leads to what it says. */
static void check_part(const struct collect_part *part)
{
    FUZZ_ASSERT(part->complete != (part->failure.code != 0));
    for (size_t i = 0; part->list && i < part->list->n; i++) {
        const struct collect_list_entry *entry = &part->list->items[i];
        const char *path = collect_list_path(part->list, i);
        struct stat st;

        FUZZ_ASSERT(path[0] && path[0] != '/' &&
                    strlen(path) <= COLLECT_MAX_PATH + COLLECT_MAX_NAME);
        if (part->complete && entry->kind == COLLECT_FILE)
            FUZZ_ASSERT(fstatat(part->dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(st.st_mode) && (uint64_t)st.st_size == entry->size);
    }
}

/* The first has no list. */
static void open_parts(int fd, struct collect_part *parts, struct collect_list *lists)
{
    for (int i = 0; i < N_PARTS; i++) {
        char name[] = { (char)('0' + i), '\0' };

        FUZZ_ASSERT(mkdirat(fd, name, 0700) == 0);
        parts[i] =
            (struct collect_part){ .dir_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                   .list = i ? &lists[i] : NULL };
        FUZZ_ASSERT(parts[i].dir_fd >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct collect_list lists[N_PARTS] = { 0 };
    struct collect_part parts[N_PARTS];
    struct collect_reader collect_reader;
    int fd = make_tree();

    open_parts(fd, parts, lists);
    collect_reader_init(&collect_reader, parts, N_PARTS, MAX_BYTES, MAX_ENTRIES);
    feed(&collect_reader, data, size);
    collect_reader_finish(&collect_reader);
    FUZZ_ASSERT(collect_reader.complete || collect_reader.failure.code);
    check_tree(&collect_reader);
    collect_reader_done(&collect_reader);
    for (int i = 0; i < N_PARTS; i++) {
        check_part(&parts[i]);
        collect_list_done(&lists[i]);
        FUZZ_ASSERT(close(parts[i].dir_fd) == 0);
    }
    close(fd);
    FUZZ_ASSERT(tree_remove(AT_FDCWD, tree) == 0);
    FUZZ_ASSERT(rmdir(room) == 0 && mkdir(room, 0700) == 0); /* there was nothing else in it */
    return 0;
}
