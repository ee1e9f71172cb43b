/* Uses a known amount of CPU time, memory, processes or threads.  Runs inside.
 *
 *   load burn MS N SHAPE     N processes (SHAPE: self, child, orphan) that burn MS each
 *   load touch MIB N         N processes that hold MIB each at the same time
 *   load threads N           N threads at the same time
 *   load foreign             a system call of another architecture */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Prints how many microseconds it took: a machine that stands still for a moment makes it more than
 * was asked for. */
static void burn(long ms)
{
    char line[24];
    struct timespec used;
    volatile unsigned long sum = 0;

    do {
        for (int i = 0; i < 10000; i++)
            sum += (unsigned long)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
    snprintf(line, sizeof(line), "%ld\n", used.tv_sec * 1000000 + used.tv_nsec / 1000);
    if (write(STDOUT_FILENO, line, strlen(line)) < 0)
        _exit(1);
}

static void hold(void)
{
    const struct timespec time = { .tv_nsec = 100 * 1000 * 1000 };

    nanosleep(&time, NULL); /* long enough to be seen by supervision, which looks now and then */
}

/* One after the other: two processors must not make the sum depend on who else is busy. */
static int burn_all(long ms, int n, const char *shape)
{
    if (!strcmp(shape, "self")) {
        burn(ms * n);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        int done[2];
        char byte;
        pid_t pid;

        if (pipe(done) < 0 || (pid = fork()) < 0)
            return 1;
        if (pid == 0) {
            if (!strcmp(shape, "orphan") && fork() != 0)
                _exit(0);
            burn(ms);
            _exit(0);
        }
        close(done[1]);
        if (read(done[0], &byte, 1) != 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
        close(done[0]);
    }
    return 0;
}

static int touch_all(size_t bytes, int n)
{
    int status, failed = 0;

    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid == 0) {
            char *memory = malloc(bytes);

            if (!memory)
                _exit(1);
            memset(memory, 1, bytes);
            hold();
            hold();
            _exit(memory[bytes / 2] != 1);
        }
    }
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0;
}

static void *thread_main(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

static int threads_all(int n)
{
    pthread_t threads[256];
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, (unsigned int)n + 1);
    for (int i = 0; i < n && i < 256; i++)
        if (pthread_create(&threads[i], NULL, thread_main, &barrier) != 0)
            return 1;
    hold();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < n && i < 256; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int foreign(void)
{
    long r = 20; /* getpid of i386 */

#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory");
#endif
    return r == 20 ? 77 : 0;
}

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "burn"))
        return burn_all(number(argv[2]), number(argv[3]), argv[4]);
    if (argc == 4 && !strcmp(argv[1], "touch"))
        return touch_all((size_t)number(argv[2]) << 20, number(argv[3]));
    if (argc == 3 && !strcmp(argv[1], "threads"))
        return threads_all(number(argv[2]));
    if (argc == 2 && !strcmp(argv[1], "foreign"))
        return foreign();
    return 64;
}
