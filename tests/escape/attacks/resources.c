/* Taking more than the limits say. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define MIB (1L << 20)

static char block[MIB];

static long take_anonymous(long mib)
{
    char *memory =
        mmap(NULL, (size_t)(mib * MIB), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -1;
    for (long i = 0; i < mib * MIB; i += 4096)
        memory[i] = 1;
    return mib;
}

/* Each child takes its share, so that no single process is over anything. */
static long take_in_children(long mib)
{
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        return -1;
    for (long taken = 0; taken < mib; taken += 8)
        if (fork() == 0) {
            if (take_anonymous(8) < 0 || write(ready[1], "!", 1) < 0)
                _exit(1);
            for (;;)
                pause();
        }
    for (long taken = 0; taken < mib; taken += 8)
        if (read(ready[0], &byte, 1) != 1)
            return -1;
    return mib;
}

static long fill(int fd, long mib)
{
    for (long i = 0; i < mib; i++)
        if (write(fd, block, MIB) != MIB)
            return -1;
    return mib;
}

static long take_file(long mib)
{
    return fill(open("/tmp/large", O_WRONLY | O_CREAT, 0600), mib);
}

/* In many, each below the limit of a file's size. */
static long take_memory_files(long mib)
{
    for (long taken = 0; taken < mib; taken += 8)
        if (fill(memfd_create("large", 0), 8) < 0)
            return -1;
    return mib;
}

/* A shared mapping that nobody maps any more, of a descriptor that stays. */
static long take_shared(long mib)
{
    char *memory =
        mmap(NULL, (size_t)(mib * MIB), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -1;
    for (long i = 0; i < mib * MIB; i += 4096)
        memory[i] = 1;
    return mib;
}

static long take_sysv(long mib)
{
    int id = shmget(IPC_PRIVATE, (size_t)(mib * MIB), IPC_CREAT | 0600);
    char *memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

    if (memory == (void *)-1)
        return -1;
    shmctl(id, IPC_RMID, NULL);
    for (long i = 0; i < mib * MIB; i += 4096)
        memory[i] = 1;
    return mib;
}

/* Buffers in the kernel: 64 KiB in each pipe, a little more in each socket. */
static long take_pipes(long mib)
{
    long taken = 0;

    while (taken < mib * MIB) {
        int ends[2];
        ssize_t n;

        if (pipe2(ends, O_NONBLOCK) < 0)
            return -1;
        (void)fcntl(ends[1], F_SETPIPE_SZ, (int)MIB); /* refused past the user's quota */
        while ((n = write(ends[1], block, 65536)) > 0)
            taken += n;
    }
    return mib;
}

static long take_sockets(long mib)
{
    long taken = 0;

    while (taken < mib * MIB) {
        int ends[2];
        ssize_t n;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
            return -1;
        for (int side = 0; side < 2; side++)
            while ((n = write(ends[side], block, 65536)) > 0)
                taken += n;
    }
    return mib;
}

/* Empty files: nothing but inodes and names. */
static long take_inodes(long mib)
{
    for (long i = 0; i < mib * 1024; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/tmp/%ld", i);
        if (mknod(path, S_IFREG | 0600, 0) < 0)
            return -1;
    }
    return mib;
}

static const struct {
    const char *kind;
    long (*take)(long mib);
} takers[] = {
    { "anonymous", take_anonymous }, { "children", take_in_children },
    { "file", take_file },           { "memory-files", take_memory_files },
    { "shared", take_shared },       { "sysv", take_sysv },
    { "pipes", take_pipes },         { "sockets", take_sockets },
    { "inodes", take_inodes },
};

static int take(int argc, char **argv)
{
    memset(block, 'x', sizeof(block));
    for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++)
        if (!strcmp(takers[i].kind, argv[0])) {
            int r = outcome(takers[i].take(number(argv[1])), argv[0]);

            if (r == 0 &&
                argc > 2) /* until the time limit: whoever only looks now and then has the time */
                for (;;)
                    pause();
            return r;
        }
    return 2;
}

static int make_processes(int argc, char **argv)
{
    long want = number(argv[0]);
    pid_t *made = calloc((size_t)want, sizeof(*made));

    (void)argc;
    for (long i = 0; i < want; i++) {
        made[i] = fork();
        if (made[i] == 0)
            for (;;)
                pause();
        if (made[i] < 0) {
            int r = not("fork"), before = (int)i;

            while (before-- > 0)
                kill(made[before], SIGKILL);
            return r;
        }
    }
    for (long i = 0; i < want; i++)
        kill(made[i], SIGKILL);
    return got("%ld processes", want);
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static int make_threads(int argc, char **argv)
{
    (void)argc;
    for (long i = 0; i < number(argv[0]); i++) {
        pthread_attr_t attr;
        pthread_t thread;
        int r;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 16384);
        r = pthread_create(&thread, &attr, wait_for_ever, NULL);
        if (r) {
            errno = r;
            return not("pthread_create");
        }
    }
    return got("threads");
}

static int open_many(int argc, char **argv)
{
    (void)argc;
    for (long i = 0; i < number(argv[0]); i++)
        if (dup(0) < 0)
            return not("dup");
    return got("descriptors");
}

static int write_large(int argc, char **argv)
{
    (void)argc;
    signal(SIGXFSZ, SIG_IGN);
    memset(block, 'x', sizeof(block));
    return outcome(fill(open(argv[0], O_WRONLY | O_CREAT, 0600), number(argv[1])), "write");
}

static int lock_memory(int argc, char **argv)
{
    size_t size = (size_t)(number(argv[0]) * MIB);

    (void)argc;
    return outcome(mlock(malloc(size), size), "mlock");
}

/* Burns CPU time in as many processes as asked for, each below the limit of one process. */
static int burn(int argc, char **argv)
{
    for (long i = 1; i < number(argv[0]); i++)
        if (fork() == 0)
            break;
    (void)argc;
    for (clock_t until = clock() + number(argv[1]) * CLOCKS_PER_SEC / 1000; clock() < until;)
        continue;
    while (wait(NULL) > 0)
        continue;
    return got("burnt");
}

static int flood(int argc, char **argv)
{
    int fd = argc > 1 ? (int)number(argv[1]) : 1;

    memset(block, 'x', sizeof(block));
    return outcome(fill(fd, number(argv[0])), "write");
}

const struct attack resource_attacks[] = {
    { "take", take, 2 },
    { "processes-many", make_processes, 1 },
    { "threads-many", make_threads, 1 },
    { "open-many", open_many, 1 },
    { "write-large", write_large, 2 },
    { "mlock", lock_memory, 1 },
    { "burn", burn, 2 },
    { "flood", flood, 1 },
    { NULL, NULL, 0 },
};
