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
 *   probe calls               one call for each line of stdin: its number and arguments, six at most;
 *                             prints one answer for each, and nothing else */
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
#define AT_ONCE 16

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
    long result;

    setitimer(ITIMER_REAL, &patience, NULL);
    result = ask(number, arguments);
    /* The child of a fork that was just made may be late: then the slot is another question's. */
    if (getpid() == me)
        *slot = (struct slot){ .result = result, .answered = 1 };
    _exit(0);
}

struct question {
    long number;
    unsigned long arguments[6];
    char label[48]; /* before the answer */
};

static const char *answer(const struct slot *slot, int status)
{
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

/* All at once: some block until their time is over. */
static void ask_all(const struct question *questions, int n)
{
    static struct slot *slots;
    pid_t pids[AT_ONCE];
    int status;

    if (!slots)
        slots = mmap(NULL, AT_ONCE * sizeof(*slots), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        exit(2);
    for (int i = 0; i < n; i++) {
        slots[i] = (struct slot){ 0 };
        pids[i] = fork();
        if (pids[i] < 0)
            exit(2);
        if (pids[i] == 0)
            child(&slots[i], questions[i].number, questions[i].arguments);
    }
    for (int i = 0; i < n; i++) {
        waitpid(pids[i], &status, 0);
        printf("%s%s\n", questions[i].label, answer(&slots[i], status));
    }
    fflush(stdout);
}

/* Waits until there are some, or all when there is none. */
static void ask_soon(const struct question *question)
{
    static struct question waiting[AT_ONCE];
    static int n;

    if (question)
        waiting[n++] = *question;
    if (n == AT_ONCE || !question) {
        ask_all(waiting, n);
        n = 0;
    }
}

/* NUMBER and its arguments, as decimal numbers with a space between. */
static void ask_lines(void)
{
    char line[256];

    while (fgets(line, sizeof(line), stdin)) {
        struct question question = { 0 };
        char *rest = line;

        question.number = strtol(rest, &rest, 10);
        for (int i = 0; i < 6; i++)
            question.arguments[i] = strtoul(rest, &rest, 10);
        ask_all(&question, 1); /* one after the other: what is told of them has an order */
    }
}

static void ask_range(long first, long last, int zeros_too)
{
    for (long number = first; number <= last; number++) {
        struct question question = { .number = number };

        memset(question.arguments, 0xff, sizeof(question.arguments));
        snprintf(question.label, sizeof(question.label), "%ld ones ", number);
        ask_soon(&question);
        memset(question.arguments, 0, sizeof(question.arguments));
        snprintf(question.label, sizeof(question.label), "%ld zeros ", number);
        if (zeros_too)
            ask_soon(&question);
    }
    ask_soon(NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "calls"))
        ask_lines();
    else if (argc == 4)
        ask_range(strtol(argv[2], NULL, 0), strtol(argv[3], NULL, 0), !strcmp(argv[1], "all"));
    else
        return 2;
    return 0;
}
