/* A tree as a sandbox hands it out, in pieces of any size: nothing outside the directory is touched,
 * and what is kept is within its bounds. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/store_tree.h"
#include "fuzz.h"
#include "monitor/intake.h"

#define MAX_BYTES 4096
#define MAX_ENTRIES 64

/* Two directories: what a stream could reach by one `..` too many is in the outer one. */
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
static void feed(struct intake *intake, const uint8_t *data, size_t size)
{
    size_t piece = size && data[0] ? data[0] : size;

    for (size_t at = 1; at < size; at += piece)
        intake_take(intake, data + at, size - at < piece ? size - at : piece);
}

static void check_tree(const struct intake *intake)
{
    struct tree_scan scan;
    sbr_error err;

    FUZZ_ASSERT(intake->depth >= 0 && intake->depth <= COLLECT_MAX_DEPTH);
    /* A refused one may stop anywhere, but never beyond what is allowed. */
    if (tree_scan(AT_FDCWD, tree, false, &scan, &err) == 0) {
        FUZZ_ASSERT(scan.bytes <= MAX_BYTES && scan.files <= MAX_ENTRIES);
        FUZZ_ASSERT(!intake->failure.code || intake->failure.message[0]);
    } else {
        FUZZ_ASSERT(strstr(err.message, "too long") || err.code == SBR_E_NO_MEMORY);
    }
    tree_scan_done(&scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct intake intake;
    struct stat st;
    int fd = make_tree();

    intake_init(&intake, fd, MAX_BYTES, MAX_ENTRIES);
    feed(&intake, data, size);
    intake_finish(&intake);
    FUZZ_ASSERT(intake.complete || intake.failure.code);
    check_tree(&intake);
    intake_done(&intake);
    FUZZ_ASSERT(fstat(fd, &st) == 0);
    close(fd);
    FUZZ_ASSERT(tree_remove(AT_FDCWD, tree) == 0);
    FUZZ_ASSERT(rmdir(room) == 0 && mkdir(room, 0700) == 0); /* there was nothing else in it */
    return 0;
}
