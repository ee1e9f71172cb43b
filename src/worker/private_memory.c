/* A fork shares more than copy-on-write pages: a shared mapping stays shared, and a program can
 * write to each one that its worker inherits.  The next worker, which follows pointers before it is
 * confined, would read what that program wrote.  So the zygote has no such mapping when it makes
 * its first worker, whether prefault.c, the interpreter or a preloaded module made it. */
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>

#define N_RANDOM_BYTES 16

struct mapping {
    unsigned long start, end;
    char access[8];
};

/* Replaces the mapping by a private copy at the same address. */
static int copy_in_place(const struct mapping *mapping)
{
    const size_t size = mapping->end - mapping->start;
    void *const place = (void *)mapping->start; /* NOLINT: an address, as a number */
    const int access = PROT_READ | (mapping->access[1] == 'w' ? PROT_WRITE : 0);
    void *copy = MAP_FAILED;

    /* Unreadable memory cannot be copied, and no code executes from shared memory. */
    if (mapping->access[0] == 'r' && mapping->access[2] == '-')
        copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return -1;
    memcpy(copy, place, size);
    if (mprotect(copy, size, access) == 0 &&
        mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place)
        return 0;
    munmap(copy, size);
    return -1;
}

/* The kernel reports "sh" for a shared mapping that is writable or can be made so, but not for a
 * file that was opened only for reading. */
static bool is_shared(const char *flags)
{
    return strstr(flags, " sh ") != NULL;
}

static int take_if_shared(const struct mapping *mapping, const char *flags)
{
    return is_shared(flags) ? copy_in_place(mapping) : 0;
}

/* The kernel reports "dc" for memory that a copy would not get. */
static int inherit_if_left_out(const struct mapping *mapping, const char *flags)
{
    void *const place = (void *)mapping->start; /* NOLINT: an address, as a number */

    return strstr(flags, " dc ") ? madvise(place, mapping->end - mapping->start, MADV_DOFORK) : 0;
}

static int visit_mappings(int (*visit)(const struct mapping *mapping, const char *flags))
{
    static const char title[] = "VmFlags:";
    FILE *maps = fopen("/proc/self/smaps", "re");
    struct mapping next, mapping = { 0 };
    char line[512];
    bool looked = false;
    int r = 0;

    if (!maps)
        return -1;
    while (r == 0 && fgets(line, sizeof(line), maps)) {
        /* NOLINTNEXTLINE(cert-err34-c): as the kernel writes it */
        if (sscanf(line, "%lx-%lx %7s", &next.start, &next.end, next.access) == 3) {
            mapping = next;
        } else if (strncmp(line, title, strlen(title)) == 0) {
            looked = true;
            r = visit(&mapping, line);
        }
    }
    fclose(maps);
    return looked ? r : -1;
}

int private_memory_take(void)
{
    return visit_mappings(take_if_shared);
}

int private_memory_inherit(void)
{
    return visit_mappings(inherit_if_left_out);
}

int private_memory_random(void)
{
    void *bytes = (void *)getauxval(AT_RANDOM); /* NOLINT: an address, as a number */

    if (!bytes)
        return 0;
    return getrandom(bytes, N_RANDOM_BYTES, 0) == N_RANDOM_BYTES ? 0 : -1;
}
