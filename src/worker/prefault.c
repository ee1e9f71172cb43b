/* A forked process gets its memory page by page as it touches it, and each page fault costs more
 * than the instruction that caused it.  Small programs touch nearly the same pages, from their
 * first word to the end of the interpreter.  So the zygote lets a copy of itself run one program
 * once, and every worker touches those pages before its program comes. */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/worker.h"

/* Bits of an entry in /proc/PID/pagemap. */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_OF_FILE (1ull << 61)
#define PAGE_EXCLUSIVE (1ull << 56)

#define MAX_PAGES 4000
#define AT_ONCE (64u << 10) /* mapped by the kernel when one page of a file is touched */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

struct pages {
    uintptr_t address;
    uint32_t len; /* bytes: one page, until all are known */
    bool is_written;
};

/* Shared by the zygote and the copy.  Workers follow it before they are confined, so none of them
 * may share it (private_memory.c). */
struct notes {
    size_t n;
    struct pages pages[MAX_PAGES];
};

static struct notes *notes;
static bool is_sample;

static void note_page(uintptr_t address, size_t len, bool is_written)
{
    const struct pages *last = notes->n ? &notes->pages[notes->n - 1] : NULL;

    if (!is_written && last && !last->is_written && last->address / AT_ONCE == address / AT_ONCE)
        return;
    if (notes->n < MAX_PAGES)
        notes->pages[notes->n++] = (struct pages){ address, (uint32_t)len, is_written };
}

/* A written page is no longer shared with the zygote; any other page only has to be mapped. */
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
                note_page(start + i * page, page, true);
            else if (!writable && entry & PAGE_OF_FILE)
                note_page(start + i * page, page, false);
        }
        start += n * page;
    }
}

void prefault_note(void)
{
    scoped_fd int pagemap = is_sample ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    FILE *maps = pagemap >= 0 ? fopen("/proc/self/maps", "re") : NULL;
    unsigned long start, end;
    char access[8], line[512];

    is_sample = false; /* what comes later is not the program's */
    if (!maps)
        return;
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && /* NOLINT: the kernel's */
            access[0] == 'r' && access[3] == 'p')
            note_mapping(pagemap, start, end, access[1] == 'w');
    fclose(maps);
}

static void touch(const struct pages *pages)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t at = 0; at < pages->len; at += size) {
        volatile char *byte = (volatile char *)pages->address + at;
        char value = *byte;

        if (pages->is_written)
            *byte = value;
    }
}

/* One call copies all written pages of a range without the cost of a fault for each.  For pages
 * that are only mapped it would gain nothing: one fault maps all around it. */
void prefault_repeat(void)
{
    for (size_t i = 0; notes && i < notes->n; i++) {
        const struct pages *pages = &notes->pages[i];
        bool copied = pages->is_written &&
                      (madvise((void *)pages->address, pages->len, MADV_POPULATE_WRITE) == 0 ||
                       errno != EINVAL); /* which means an older kernel */

        if (!copied)
            touch(pages);
    }
}

/* Drops pages that only the copy had mapped. */
static void forget_unmapped(void)
{
    size_t n = 0;

    for (size_t i = 0; i < notes->n; i++) {
        struct pages page = notes->pages[i];

        if (msync((void *)page.address, page.len, MS_ASYNC) == 0)
            notes->pages[n++] = page;
    }
    notes->n = n;
}

/* Makes one range of written pages that follow each other. */
static void join(void)
{
    size_t n = 0;

    for (size_t i = 0; i < notes->n; i++) {
        struct pages page = notes->pages[i], *last = n ? &notes->pages[n - 1] : NULL;

        if (last && last->is_written && page.is_written &&
            last->address + last->len == page.address)
            last->len += page.len;
        else
            notes->pages[n++] = page;
    }
    notes->n = n;
}

int prefault_begin(void)
{
    notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED)
        notes = NULL;
    return notes ? 0 : -1;
}

void prefault_is_sample(void)
{
    is_sample = true;
}

void prefault_end(void)
{
    forget_unmapped();
    join();
}

int sbr_worker_prefault(void)
{
    pid_t pid;

    if (prefault_begin() < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        prefault_is_sample();
        return 0;
    }
    if (pid < 0)
        return -1;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    prefault_end();
    return 1;
}
