/* A copy of a process has its memory page by page, as it touches it; each time costs more than the instruction that did.
 * The pages that a small program touches, from the first word of it to the end of the interpreter, are nearly the same for
 * all programs.  So the zygote lets a copy of itself run one, once, and every worker takes those pages while it still has
 * time. */
#include "worker/rehearse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "worker/runtime.h"
#include "worker/worker.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14; before it nothing happens */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Of an entry of /proc/PID/pagemap. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_OF_FILE (1ull << 61)
#define PAGE_EXCLUSIVE (1ull << 56)

#define MAX_RANGES 4000

struct range {
    uintptr_t start;
    size_t size;
    int advice;
};

/* Shared by the zygote and the copy. */
struct notes {
    size_t n;
    struct range ranges[MAX_RANGES];
};

static struct notes *notes;
static bool is_rehearsal;

static void note_page(uintptr_t address, size_t page, int advice)
{
    struct range *last = notes->n ? &notes->ranges[notes->n - 1] : NULL;

    if (last && last->advice == advice && last->start + last->size == address)
        last->size += page;
    else if (notes->n < MAX_RANGES)
        notes->ranges[notes->n++] = (struct range){ address, page, advice };
}

/* Written to: no longer shared with the zygote.  Else it is enough to have it at hand. */
static void note_mapping(int pagemap, uintptr_t start, uintptr_t end, bool writable)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t entries[512];

    while (start < end) {
        const size_t most = sizeof(entries) / sizeof(*entries), left = (end - start) / page;
        size_t n = left < most ? left : most;

        if (pread(pagemap, entries, n * sizeof(*entries),
                  (off_t)(start / page * sizeof(*entries))) != (ssize_t)(n * sizeof(*entries)))
            return;
        for (size_t i = 0; i < n; i++) {
            uint64_t entry = entries[i];

            if (!(entry & PAGE_PRESENT))
                continue;
            if (writable && entry & PAGE_EXCLUSIVE && !(entry & PAGE_OF_FILE))
                note_page(start + i * page, page, MADV_POPULATE_WRITE);
            else if (!writable && entry & PAGE_OF_FILE)
                note_page(start + i * page, page, MADV_POPULATE_READ);
        }
        start += n * page;
    }
}

void rehearse_note(void)
{
    scoped_fd int pagemap = is_rehearsal ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    FILE *maps = pagemap >= 0 ? fopen("/proc/self/maps", "re") : NULL;
    unsigned long start, end;
    char access[8], line[512];

    if (!maps)
        return;
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && /* NOLINT: the kernel's */
            access[0] == 'r' && access[3] == 'p')
            note_mapping(pagemap, start, end, access[1] == 'w');
    fclose(maps);
}

void rehearse_repeat(void)
{
    for (size_t i = 0; notes && i < notes->n; i++)
        (void)madvise((void *)notes->ranges[i].start, notes->ranges[i].size,
                      notes->ranges[i].advice);
}

/* What only the copy had mapped is of no use to others. */
static void forget_unmapped(void)
{
    size_t n = 0;

    for (size_t i = 0; i < notes->n; i++) {
        struct range range = notes->ranges[i];

        if (msync((void *)range.start, range.size, MS_ASYNC) == 0)
            notes->ranges[n++] = range;
    }
    notes->n = n;
}

int sbr_worker_rehearse(void)
{
    pid_t pid;

    notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED) {
        notes = NULL;
        return -1;
    }
    runtime_before_fork();
    pid = fork();
    if (pid == 0) {
        is_rehearsal = true;
        runtime_after_fork_in_child();
        return 0;
    }
    runtime_after_fork_in_parent();
    if (pid < 0)
        return -1;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    forget_unmapped();
    return 1;
}
