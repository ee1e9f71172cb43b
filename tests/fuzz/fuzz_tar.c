/* An archive from a stranger: whatever it says, nothing is made outside the directory, and no more than is allowed. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree_remove.h"
#include "fuzz.h"
#include "workspace/tar.h"
#include "workspace/tar_format.h"
#include "workspace/workspace_internal.h"

#define MAX_ENTRIES 40
#define MAX_BYTES (64 * 1024)

struct found {
    uint64_t entries, bytes;
};

static int check(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct found *found = context;

    (void)err;
    FUZZ_ASSERT((entry->st.st_mode & 07000) == 0);
    FUZZ_ASSERT(S_ISREG(entry->st.st_mode) || S_ISDIR(entry->st.st_mode) ||
                S_ISLNK(entry->st.st_mode));
    FUZZ_ASSERT(!S_ISREG(entry->st.st_mode) || entry->st.st_nlink == 1);
    found->entries++;
    found->bytes += workspace_blocks(entry);
    return 0;
}

static void read_into(int top_fd, int fd)
{
    struct tar_source source = { .fd = fd, .max_bytes = MAX_BYTES, .max_entries = MAX_ENTRIES };
    struct found found = { 0 };
    sbr_error err = { 0 };
    int tree_fd = openat(top_fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = tar_read(tree_fd, &source, &err);

    FUZZ_ASSERT(r == 0 || (r == err.code && err.message[0]));
    if (r == 0) {
        FUZZ_ASSERT(workspace_walk(tree_fd, check, &found, &err) == 0);
        FUZZ_ASSERT(found.entries <= MAX_ENTRIES && found.bytes <= MAX_BYTES);
    }
    close(tree_fd);
}

/* Most changes would end at a wrong sum: they are made right, so that what is behind them is reached. */
static void mend_sums(char *data, size_t size)
{
    struct tar_header header;
    char sum[8];

    for (; size >= sizeof(header); data += sizeof(header), size -= sizeof(header)) {
        memcpy(&header, data, sizeof(header));
        if (memcmp(header.magic, "ustar", 5) != 0)
            continue;
        snprintf(sum, sizeof(sum), "%06o ", tar_sum(&header) & 0777777);
        memcpy(data + offsetof(struct tar_header, sum), sum, sizeof(sum));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_text(data, size);
    char top[] = "/tmp/sbr-fuzz-tar-XXXXXX";
    int fd = memfd_create("archive", MFD_CLOEXEC), top_fd, n = 0;
    DIR *dir;

    mend_sums(copy, size);
    FUZZ_ASSERT(fd >= 0 && fd_write_all(fd, copy, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    FUZZ_ASSERT(mkdtemp(top));
    top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_ASSERT(top_fd >= 0 && mkdirat(top_fd, "tree", 0700) == 0);
    read_into(top_fd, fd);
    dir = fdopendir(top_fd);
    while (dir && readdir(dir))
        n++;
    FUZZ_ASSERT(n == 3); /* ".", ".." and "tree" */
    FUZZ_ASSERT(tree_remove(AT_FDCWD, top) == 0);
    closedir(dir);
    close(fd);
    free(copy);
    return 0;
}
