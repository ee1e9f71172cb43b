/* Coverage builds only: the counters of a program that ends where it can write no file, or by
 * SIGKILL.  All its processes count in one file that they share, mapped before they are confined.
 * With COUNTERS_DUMP in the environment the program writes the sums as gcov does and ends. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern char counters_begin[], counters_end[]; /* counters.ld */
extern void __gcov_dump(void);

/* In place of gcov's own, by which each process adds its counters to every file at its end: what is
 * shared is written once. */
void __gcov_exit(void);
void __gcov_exit(void)
{
}

static void share(void)
{
    size_t size = (size_t)(counters_end - counters_begin);
    int fd = open(SBR_COUNTERS, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return;
    if (ftruncate(fd, (off_t)size) == 0)
        (void)mmap(counters_begin, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    close(fd);
}

/* Runs after the constructors by which gcov learns of each file. */
static void __attribute__((constructor)) counters_start(void)
{
    share();
    if (getenv("COUNTERS_DUMP")) {
        __gcov_dump();
        _exit(0);
    }
}
