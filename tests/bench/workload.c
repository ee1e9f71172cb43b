/* What runs inside and outside, to see what the inside costs.
 *
 *   workload cpu|getppid|stat|open COUNT    prints the nanoseconds that one repetition took
 *   workload write BYTES                    writes lines of text to stdout
 *   workload drain                          reads stdin to its end and prints how many bytes came
 */

#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, LINE = 64 };

static const char probed_file[] = "/usr/bin/true";
static char chunk[CHUNK];

/* Takes the last value in, so that no compiler leaves the loop out. */
static volatile uint64_t outcome;

static void compute(long long count)
{
    uint64_t x = 88172645463325252U;

    for (long long i = 0; i < count; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    outcome = x;
}

static void ask_for_parent(long long count)
{
    for (long long i = 0; i < count; i++)
        outcome = (uint64_t)syscall(SYS_getppid);
}

static void look_at_file(long long count)
{
    struct stat about;

    for (long long i = 0; i < count; i++)
        if (stat(probed_file, &about) < 0)
            err(1, "%s", probed_file);
}

static void open_and_close_file(long long count)
{
    for (long long i = 0; i < count; i++) {
        int fd = open(probed_file, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            err(1, "%s", probed_file);
        close(fd);
    }
}

static void write_text(long long bytes)
{
    for (size_t i = 0; i < CHUNK; i++)
        chunk[i] = i % LINE == LINE - 1 ? '\n' : 'x';
    while (bytes > 0) {
        ssize_t n = write(STDOUT_FILENO, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);

        if (n < 0)
            err(1, "stdout");
        bytes -= n;
    }
}

static void drain_stdin(void)
{
    long long total = 0;
    ssize_t n;

    while ((n = read(STDIN_FILENO, chunk, CHUNK)) > 0)
        total += n;
    if (n < 0)
        err(1, "stdin");
    printf("%lld\n", total);
}

static const struct loop {
    const char *name;
    void (*repeat)(long long count);
} loops[] = {
    { "cpu", compute },
    { "getppid", ask_for_parent },
    { "stat", look_at_file },
    { "open", open_and_close_file },
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int time_loop(const char *name, long long count)
{
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
        double start;

        if (strcmp(name, loops[i].name) != 0)
            continue;
        start = now();
        loops[i].repeat(count);
        printf("%.3f\n", (now() - start) / (double)count);
        return 0;
    }
    errx(2, "no such workload: %s", name);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "drain") == 0) {
        drain_stdin();
        return 0;
    }
    if (argc != 3)
        errx(2, "usage: workload NAME COUNT | workload drain");
    if (strcmp(argv[1], "write") == 0) {
        write_text(atoll(argv[2]));
        return 0;
    }
    return time_loop(argv[1], atoll(argv[2]));
}
