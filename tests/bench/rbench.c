/* Times whole runs of commands: vfork, exec, wait4.
 *
 *   rbench latency ROUNDS PAUSE_MS FILE    one line per run:    COMMAND NANOSECONDS STATUS
 *   rbench rate CALLERS MILLISECONDS FILE  one line per caller: RUNS FAILURES NANOSECONDS
 *
 * FILE has one command per line: words between spaces, the first a path.  A word `mntns=PATH`
 * before it names the mount namespace that the command starts in.  COMMAND counts lines from 0.
 *
 *   latency  runs every command once per round, after the pause, in an order drawn anew for each
 *            round, so that nobody always follows the same neighbour.
 *   rate     runs the first command only, from as many processes as there are callers.
 *
 * A command sees an empty environment and /dev/null as stdin, stdout and stderr. */

#define _GNU_SOURCE

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMMANDS = 64, MAX_WORDS = 256, CANNOT_EXEC = 127 };

struct command {
    char *argv[MAX_WORDS + 1];
    int mount_ns; /* -1: the one we are in */
};

struct command_list {
    struct command items[MAX_COMMANDS];
    size_t n;
};

struct sample {
    size_t command;
    int64_t nanoseconds;
    int status;
};

struct tally {
    int64_t runs;
    int64_t failures;
    int64_t nanoseconds;
};

static char *empty_environment[] = { NULL };
static int null_fd;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_ms(int64_t ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    if (ms)
        nanosleep(&t, NULL);
}

static int64_t parse_count(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    if (end == text || *end || value < 0)
        errx(2, "not a count: %s", text);
    return value;
}

static int open_or_fail(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        err(2, "%s", path);
    return fd;
}

/* The words point into `line`, which lives as long as the process. */
static void parse_command(struct command *command, char *line)
{
    static const char namespace_prefix[] = "mntns=";
    char *rest = NULL;
    size_t n = 0;

    command->mount_ns = -1;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (n == 0 && strncmp(word, namespace_prefix, strlen(namespace_prefix)) == 0) {
            command->mount_ns = open_or_fail(word + strlen(namespace_prefix), O_RDONLY);
            continue;
        }
        if (n == MAX_WORDS)
            errx(2, "a command has more than %d words", MAX_WORDS);
        command->argv[n++] = word;
    }
    if (n == 0)
        errx(2, "a line without a command");
}

static void read_commands(struct command_list *list, const char *path)
{
    FILE *file = fopen(path, "re");

    if (!file)
        err(2, "%s", path);
    for (;;) {
        char *line = NULL;
        size_t size = 0;

        if (getline(&line, &size, file) < 0) {
            free(line);
            break;
        }
        if (list->n == MAX_COMMANDS)
            errx(2, "%s: more than %d commands", path, MAX_COMMANDS);
        parse_command(&list->items[list->n++], line);
    }
    fclose(file);
    if (list->n == 0)
        errx(2, "%s: no command", path);
}

/* Runs in the vforked child: only system calls, and no way back. */
static void become(const struct command *command)
{
    if (command->mount_ns >= 0 && setns(command->mount_ns, CLONE_NEWNS) < 0)
        _exit(CANNOT_EXEC);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(null_fd, fd) < 0)
            _exit(CANNOT_EXEC);
    execve(command->argv[0], command->argv, empty_environment);
    _exit(CANNOT_EXEC);
}

static int run_once(const struct command *command)
{
    int status;
    pid_t pid = vfork();

    if (pid == 0)
        become(command);
    if (pid < 0)
        err(1, "vfork");
    if (wait4(pid, &status, 0, NULL) < 0)
        err(1, "wait4");
    return status;
}

/* The same orders in every run of rbench: a difference between two runs is not the order's. */
static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252U;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void shuffle(size_t *order, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = next_random() % i;
        size_t kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void take_samples(const struct command_list *list, int64_t rounds, int64_t pause,
                         struct sample *samples)
{
    size_t order[MAX_COMMANDS];

    for (size_t i = 0; i < list->n; i++)
        order[i] = i;
    for (int64_t round = 0; round < rounds; round++) {
        shuffle(order, list->n);
        for (size_t i = 0; i < list->n; i++) {
            int64_t start;
            int status;

            pause_ms(pause);
            start = now();
            status = run_once(&list->items[order[i]]);
            *samples++ = (struct sample){ order[i], now() - start, status };
        }
    }
}

static void measure_latency(const struct command_list *list, int64_t rounds, int64_t pause)
{
    size_t n = (size_t)rounds * list->n;
    struct sample *samples = calloc(n + 1, sizeof(*samples));

    if (!samples)
        err(1, "samples");
    take_samples(list, rounds, pause, samples);
    for (size_t i = 0; i < n; i++)
        printf("%zu %lld %d\n", samples[i].command, (long long)samples[i].nanoseconds,
               samples[i].status);
    free(samples);
}

static struct tally run_until(const struct command *command, int64_t duration)
{
    struct tally tally = { 0 };
    int64_t start = now();

    while (tally.nanoseconds < duration) {
        tally.failures += run_once(command) != 0;
        tally.runs++;
        tally.nanoseconds = now() - start;
    }
    return tally;
}

static void start_caller(const struct command *command, int64_t duration, int result_fd)
{
    pid_t pid = fork();
    struct tally tally;

    if (pid < 0)
        err(1, "fork");
    if (pid > 0)
        return;
    tally = run_until(command, duration);
    _exit(write(result_fd, &tally, sizeof(tally)) != sizeof(tally));
}

static void measure_rate(const struct command *command, int64_t callers, int64_t duration)
{
    int results[2];
    struct tally tally;

    if (pipe2(results, O_CLOEXEC) < 0)
        err(1, "pipe2");
    for (int64_t i = 0; i < callers; i++)
        start_caller(command, duration, results[1]);
    close(results[1]);
    while (read(results[0], &tally, sizeof(tally)) == sizeof(tally))
        printf("%lld %lld %lld\n", (long long)tally.runs, (long long)tally.failures,
               (long long)tally.nanoseconds);
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv)
{
    static struct command_list list;

    if (argc != 5)
        errx(2,
             "usage: rbench latency ROUNDS PAUSE_MS FILE | rbench rate CALLERS MILLISECONDS FILE");
    null_fd = open_or_fail("/dev/null", O_RDWR);
    read_commands(&list, argv[4]);
    if (strcmp(argv[1], "latency") == 0)
        measure_latency(&list, parse_count(argv[2]), parse_count(argv[3]));
    else if (strcmp(argv[1], "rate") == 0)
        measure_rate(&list.items[0], parse_count(argv[2]), parse_count(argv[3]) * 1000000);
    else
        errx(2, "neither latency nor rate: %s", argv[1]);
    if (fflush(stdout))
        err(1, "stdout");
    return 0;
}
