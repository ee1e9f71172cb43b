/* Asks the kernel for system calls by number, each in a child of its own, and prints one line each:
 *
 *   NUMBER PATTERN ANSWER
 *
 * PATTERN says what all six arguments were: "ones" (an invalid descriptor, pointer and flag) or
 * "zeros".  ANSWER is "ok", the name of an error, "blocked" (it waited, so it was reached),
 * "gone" (it ended its process, so it was reached), "killed" (SIGSYS: the filter did) or "crashed".
 *
 *   probe all FIRST LAST      both patterns for each number
 *   probe ones FIRST LAST     one pattern
 *   probe call NUMBER A0..A5  one call with these arguments; prints the answer alone */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_US 700000

struct slot {
    long result;
    int answered;
};

/* No function call on the way: vfork returns twice on the same stack. */
static inline __attribute__((always_inline)) long ask(long number, const unsigned long a[6])
{
#if defined(__x86_64__)
    register unsigned long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4],
                               r9 __asm__("r9") = a[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register unsigned long x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1],
                              x2 __asm__("x2") = a[2];
    register unsigned long x3 __asm__("x3") = a[3], x4 __asm__("x4") = a[4],
                              x5 __asm__("x5") = a[5];

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return (long)x0;
#else
#error "write how a system call is made here"
#endif
}

static void child(struct slot *slot, long number, const unsigned long arguments[6])
{
    struct itimerval patience = { .it_value = { .tv_usec = PATIENCE_US } };
    volatile pid_t me = getpid();

    setitimer(ITIMER_REAL, &patience, NULL);
    slot->result = ask(number, arguments);
    if (getpid() == me) /* not the child of a fork that was just made */
        slot->answered = 1;
    _exit(0);
}

static const char *answer(struct slot *slot, long number, const unsigned long arguments[6])
{
    int status;
    pid_t pid;

    *slot = (struct slot){ 0 };
    pid = fork();
    if (pid < 0)
        exit(2);
    if (pid == 0)
        child(slot, number, arguments);
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGSYS    ? "killed"
               : WTERMSIG(status) == SIGALRM ? "blocked"
                                             : "crashed";
    if (!slot->answered)
        return "gone";
    if (slot->result < 0 && slot->result > -4096)
        return strerrorname_np((int)-slot->result) ? strerrorname_np((int)-slot->result)
                                                   : "unnamed";
    return "ok";
}

int main(int argc, char **argv)
{
    static const unsigned long zeros[6];
    static const unsigned long ones[6] = { -1UL, -1UL, -1UL, -1UL, -1UL, -1UL };
    struct slot *slot = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (slot == MAP_FAILED || argc < 3)
        return 2;
    if (!strcmp(argv[1], "call")) {
        unsigned long arguments[6] = { 0 };

        for (int i = 0; i < 6 && i + 3 < argc; i++)
            arguments[i] = strtoul(argv[i + 3], NULL, 0);
        puts(answer(slot, strtol(argv[2], NULL, 0), arguments));
        return 0;
    }
    for (long number = strtol(argv[2], NULL, 0); argc > 3 && number <= strtol(argv[3], NULL, 0);
         number++) {
        printf("%ld ones %s\n", number, answer(slot, number, ones));
        if (!strcmp(argv[1], "all"))
            printf("%ld zeros %s\n", number, answer(slot, number, zeros));
        fflush(stdout);
    }
    return 0;
}
