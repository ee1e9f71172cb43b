/* Times whole runs of commands: vfork, exec, wait4.
 *
 *   rbench latency ROUNDS PAUSE_MS FILE    one line per run:    COMMAND NANOSECONDS STATUS
 *   rbench rate CALLERS MILLISECONDS FILE  one line per caller: RUNS FAILURES NANOSECONDS
 *
 * FILE has one command per line: words between spaces, the first a path.  `&&` stands between
 * programs that run one after the other, timed together, as long as they succeed.  Before a path may
 * stand, in any order:
 *
 *   mntns=PATH        the mount namespace that the program starts in
 *   uid=N             the user and group that it becomes
 *   stdin=PATH        what it reads
 *   NAME=VALUE        a variable of its environment; the name begins with a capital letter
 *   edit=OFFSET:PATH  before the clock starts, the eight digits there become the next number: the
 *                     file is one that nobody has seen
 *
 * COMMAND counts lines from 0.
 *
 *   latency  runs every command once per round, after the pause, in an order drawn anew for each
 *            round, so that nobody always follows the same neighbour.
 *   rate     runs the first command only, from as many processes as there are callers.
 *
 * Otherwise a program sees an empty environment and /dev/null as stdin, stdout and stderr. */

#define _GNU_SOURCE

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMMANDS = 64, MAX_WORDS = 256, MAX_VARIABLES = 16, MAX_STEPS = 4, CANNOT_EXEC = 127 };
enum { DIGITS = 8 };

/* One program. */
struct step {
    char *argv[MAX_WORDS + 1];
    char *environment[MAX_VARIABLES + 1];
    size_t n_words, n_variables;
    const char *stdin_path; /* NULL: /dev/null           */
    int mount_ns;           /* -1: the one we are in     */
    int64_t uid;            /* -1: the one we are        */
};

struct command {
    struct step steps[MAX_STEPS];
    size_t n_steps;
    int edit_fd; /* -1: nothing to edit */
    off_t edit_at;
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

/* What follows `prefix` in the word, or NULL. */
static const char *after_prefix(const char *word, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(word, prefix, len) == 0 ? word + len : NULL;
}

static void set_edit(struct command *command, const char *place)
{
    char *end;

    command->edit_at = (off_t)strtoll(place, &end, 10);
    if (end == place || *end != ':')
        errx(2, "not OFFSET:PATH: %s", place);
    command->edit_fd = open_or_fail(end + 1, O_RDWR);
}

static void add_variable(struct step *step, char *word)
{
    if (step->n_variables == MAX_VARIABLES)
        errx(2, "a program has more than %d variables", MAX_VARIABLES);
    step->environment[step->n_variables++] = word;
}

/* True when the word is one of those that stand before a path. */
static bool takes_setting(struct command *command, struct step *step, char *word)
{
    const char *value;

    if ((value = after_prefix(word, "mntns=")))
        step->mount_ns = open_or_fail(value, O_RDONLY);
    else if ((value = after_prefix(word, "uid=")))
        step->uid = parse_count(value);
    else if ((value = after_prefix(word, "stdin=")))
        step->stdin_path = value;
    else if ((value = after_prefix(word, "edit=")))
        set_edit(command, value);
    else if (*word >= 'A' && *word <= 'Z' && strchr(word, '='))
        add_variable(step, word);
    else
        return false;
    return true;
}

static struct step *add_step(struct command *command)
{
    struct step *step = &command->steps[command->n_steps];

    if (command->n_steps++ == MAX_STEPS)
        errx(2, "a command has more than %d programs", MAX_STEPS);
    step->mount_ns = -1;
    step->uid = -1;
    return step;
}

/* The words point into `line`, which lives as long as the process. */
static void parse_command(struct command *command, char *line)
{
    struct step *step = add_step(command);
    char *rest = NULL;

    command->edit_fd = -1;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (strcmp(word, "&&") == 0) {
            step = add_step(command);
            continue;
        }
        if (step->n_words == 0 && takes_setting(command, step, word))
            continue;
        if (step->n_words == MAX_WORDS)
            errx(2, "a program has more than %d words", MAX_WORDS);
        step->argv[step->n_words++] = word;
    }
    for (size_t i = 0; i < command->n_steps; i++)
        if (command->steps[i].n_words == 0)
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

/* Runs in the vforked child: only system calls, and no way back.  The C library's setresuid would
 * change its threads as well. */
static void become(const struct step *step)
{
    int in = step->stdin_path ? open(step->stdin_path, O_RDONLY | O_CLOEXEC) : null_fd;

    if (step->mount_ns >= 0 && setns(step->mount_ns, CLONE_NEWNS) < 0)
        _exit(CANNOT_EXEC);
    if (step->uid >= 0 && (syscall(SYS_setgroups, 0, NULL) < 0 ||
                           syscall(SYS_setresgid, step->uid, step->uid, step->uid) < 0 ||
                           syscall(SYS_setresuid, step->uid, step->uid, step->uid) < 0))
        _exit(CANNOT_EXEC);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(fd == 0 ? in : null_fd, fd) < 0)
            _exit(CANNOT_EXEC);
    execve(step->argv[0], step->argv, step->environment);
    _exit(CANNOT_EXEC);
}

static int run_step(const struct step *step)
{
    int status;
    pid_t pid = vfork();

    if (pid == 0)
        become(step);
    if (pid < 0)
        err(1, "vfork");
    if (wait4(pid, &status, 0, NULL) < 0)
        err(1, "wait4");
    return status;
}

static int run_once(const struct command *command)
{
    int status = 0;

    for (size_t i = 0; i < command->n_steps && status == 0; i++)
        status = run_step(&command->steps[i]);
    return status;
}

static void edit(const struct command *command)
{
    char digits[DIGITS];
    int i = DIGITS - 1;

    if (command->edit_fd < 0)
        return;
    if (pread(command->edit_fd, digits, DIGITS, command->edit_at) != DIGITS)
        err(1, "nothing to edit");
    for (; i > 0 && digits[i] == '9'; i--)
        digits[i] = '0';
    digits[i]++;
    if (pwrite(command->edit_fd, digits, DIGITS, command->edit_at) != DIGITS)
        err(1, "edit");
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

            edit(&list->items[order[i]]);
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
