#include "base/secret_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Stands in front of the text, in the same pages. */
struct head {
    size_t mapped;
};

char *secret_memory_new(size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t mapped = (sizeof(struct head) + len + 1 + page - 1) / page * page;
    struct head *head =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *text = (char *)(head + 1);

    if (head == MAP_FAILED)
        return NULL;
    (void)mlock(head, mapped); /* RLIMIT_MEMLOCK may be too small: then it can be swapped */
    (void)madvise(head, mapped, MADV_DONTDUMP);
    (void)madvise(head, mapped, MADV_WIPEONFORK); /* no child has a use for it */
    head->mapped = mapped;
    return text;
}

char *secret_memory_take(const void *data, size_t len)
{
    char *text = secret_memory_new(len);

    if (text)
        memcpy(text, data, len);
    return text;
}

void secret_memory_free(char *text)
{
    struct head *head;
    size_t mapped;

    if (!text)
        return;
    head = (struct head *)text - 1;
    mapped = head->mapped;
    explicit_bzero(head, mapped);
    munmap(head, mapped);
}
