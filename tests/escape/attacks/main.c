#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#define PATIENCE_S 5 /* for one attack of many */
#define MOST_WORDS 16

static const struct attack *const tables[] = {
    file_attacks, process_attacks,  identity_attacks,  kernel_attacks, socket_attacks,
    ipc_attacks,  resource_attacks, neighbour_attacks, notice_attacks,
};

pid_t started_by, first_process;
static int turn = -1; /* of an attack of many */

static void say(const char *word, const char *fmt, va_list args)
{
    char line[4096];
    int n = turn < 0 ? 0 : snprintf(line, sizeof(line), "%d\t", turn);

    n += snprintf(line + n, sizeof(line) - (size_t)n, "%s ", word);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
    /* A file that was read may hold anything, and the whole answer must stay text. */
    for (int i = 0; i < n; i++)
        if (line[i] != '\t' && (line[i] < ' ' || line[i] > '~'))
            line[i] = '?';
    line[n] = '\n';
    if (write(1, line, (size_t)n + 1) < 0)
        _exit(3);
}

int got(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("GOT", fmt, args);
    va_end(args);
    return 0;
}

int not_because(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("NOT", fmt, args);
    va_end(args);
    return 1;
}

int not(const char *what)
{
    const char *name = strerrorname_np(errno);

    return not_because("%s %s", name ? name : "unknown", what);
}

int outcome(long result, const char *what)
{
    return result < 0 ? not(what) : got("%s %ld", what, result);
}

void hold(const char *fmt, ...)
{
    char byte;
    va_list args;

    va_start(args, fmt);
    say("READY", fmt, args);
    va_end(args);
    while (read(0, &byte, 1) > 0)
        continue;
}

long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 0);

    if (*end || end == text) {
        fprintf(stderr, "attack: '%s' is not a number\n", text);
        exit(2);
    }
    return value;
}

static int attack(int argc, char **argv)
{
    for (size_t i = 0; argc > 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct attack *a = tables[i]; a->name; a++)
            if (!strcmp(a->name, argv[0])) {
                if (argc - 1 >= a->n_words)
                    return a->run(argc - 1, argv + 1);
                fprintf(stderr, "attack: %s needs %d words\n", a->name, a->n_words);
                return 2;
            }
    fprintf(stderr, "attack: there is no attack '%s'\n", argc > 0 ? argv[0] : "");
    return 2;
}

static int attack_by_line(char *line)
{
    char *words[MOST_WORDS];
    int n = 0;

    for (char *word = strsep(&line, "\t"); word && n < MOST_WORDS; word = strsep(&line, "\t"))
        words[n++] = word;
    return attack(n, words);
}

/* Ends what takes too long. */
static int wait_for(pid_t pid, const sigset_t *ended)
{
    struct timespec now, until;
    int status;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > until.tv_sec)
            kill(pid, SIGKILL);
        sigtimedwait(ended, NULL, &(struct timespec){ .tv_sec = 1 });
    }
    return status;
}

static int attack_many(void)
{
    static char lines[1 << 16];
    size_t size = fread(lines, 1, sizeof(lines) - 1, stdin);
    char *rest = lines, *line;
    sigset_t ended, before;

    if (size == sizeof(lines) - 1)
        return 2;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, &before);
    for (turn = 0; (line = strsep(&rest, "\n")) && *line; turn++) {
        char directory[32]; /* of its own: what one leaves must not be in the way of the next */
        int status, made;
        pid_t pid;

        snprintf(directory, sizeof(directory), "attack-%d", turn);
        made = mkdir(directory, 0700) == 0;
        pid = fork();
        if (pid < 0)
            return 2;
        if (pid == 0) {
            sigprocmask(SIG_SETMASK, &before, NULL);
            exit(made && chdir(directory) < 0 ? 2 : attack_by_line(line));
        }
        status = wait_for(pid, &ended);
        rmdir(directory);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
            printf("%d\tended with %s %d\n", turn, WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
            fflush(stdout);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    started_by = getppid();
    first_process = getpid();
    if (argc == 2 && !strcmp(argv[1], "many"))
        return attack_many();
    return attack(argc - 1, argv + 1);
}
