#include "cli/changes_menu.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/present.h"
#include "lib/runner.h"
#include "model/executes.h"

#define WORDS_MAX 512 /* of an answer that picks files */
#define LIST_MOST 200 /* files with a number; others are picked by path */

/* A command that says --keep has answered already; an agent's changes are always kept. */
bool changes_menu_prepare(struct options *o, bool stdin_is_program)
{
    bool agent = o->door != NULL;

    if (!request_has_cow(o->request) || o->json || o->quiet || o->diff_path ||
        (o->request->keep && !agent) || (o->request->workspace && !o->request->project))
        return false;
    if (stdin_is_program || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
        !isatty(STDERR_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp())
        return false;
    o->request->keep = true;
    return true;
}

void changes_menu_drop_empty(sbr_result *result, const struct options *o)
{
    sbr_error ignored; /* then it stays until it is pruned */

    if (!result->changes_id[0] || !result->changes || result->changes->n || result->files.n)
        return;
    if (runner_drop_changes(result->changes_id, &ignored) < 0)
        return;
    result->changes_id[0] = '\0';
    if (o->door)
        fputs("sandbox-run: it changed nothing\n", stderr);
}

/* This program again; its signals are those of a command that a shell started. */
static int call(char *const *argv)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child = -1;
    int status = 0, r = posix_spawnattr_init(&attributes);

    (void)sigemptyset(&none);
    if (r == 0)
        r = posix_spawnattr_setsigmask(&attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (r == 0)
        r = posix_spawn(&child, "/proc/self/exe", NULL, &attributes, argv, environ);
    if (r == 0 && waitpid(child, &status, 0) == child)
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    fputs("sandbox-run: cannot start the command; the changes stay kept\n", stderr);
    return -1;
}

static int call_words(const char *const *words)
{
    return call((char *const *)words);
}

static void list_numbers(const struct changes *changes)
{
    size_t shown = 0;

    for (size_t i = 0; i < changes->n && shown < LIST_MOST; i++) {
        if (executes_is_bookkeeping(&changes->items[i]))
            continue;
        fprintf(stderr, "%4zu  %-8s  ", i + 1, change_op_name(changes->items[i].op));
        present_name(stderr, changes->items[i].path);
        fputc('\n', stderr);
        shown++;
    }
}

/* A number of the list, or a path; NULL: neither. */
static const char *picked(const struct changes *changes, char *word)
{
    char *end = NULL;
    unsigned long number = strtoul(word, &end, 10);

    if (*word >= '0' && *word <= '9' && end && !*end)
        return number >= 1 && number <= changes->n ? changes->items[number - 1].path : NULL;
    return word;
}

/* True: it was applied. */
static bool pick(const sbr_result *result)
{
    const char *words[WORDS_MAX] = { "sandbox-run", "apply", result->changes_id };
    char line[4096], *rest = line;
    size_t n = 3;

    list_numbers(result->changes);
    fputs("which? numbers or paths, apart by blanks; nothing goes back: ", stderr);
    if (!fgets(line, sizeof(line), stdin))
        return false;
    for (char *word; (word = strtok_r(rest, " \t\n,", &rest)) && n + 2 < WORDS_MAX;) {
        words[n] = picked(result->changes, word);
        if (!words[n++]) {
            fprintf(stderr, "sandbox-run: there is no number %s in the list\n", word);
            return false;
        }
    }
    words[n] = "--yes";
    return n > 3 && call_words(words) == 0;
}

static bool apply(const sbr_result *result)
{
    return call_words((const char *const[]){ "sandbox-run", "apply", result->changes_id, "--yes",
                                             NULL }) == 0;
}

static bool diff(const sbr_result *result)
{
    (void)call_words(
        (const char *const[]){ "sandbox-run", "changes", "diff", result->changes_id, NULL });
    return false;
}

static bool keep(const sbr_result *result)
{
    fprintf(stderr, "sandbox-run: kept; `sandbox-run apply %.*s` makes it real\n", PRESENT_ID,
            result->changes_id);
    return true;
}

static bool drop(const sbr_result *result)
{
    return call_words((const char *const[]){ "sandbox-run", "changes", "drop", "--quiet",
                                             result->changes_id, NULL }) == 0;
}

static const struct answer {
    const char *word;
    bool (*act)(const sbr_result *result); /* true: that is all */
} answers[] = {
    { "apply", apply }, { "diff", diff }, { "pick", pick }, { "keep", keep }, { "drop", drop },
};

/* A word or its beginning; NULL: none of them. */
static const struct answer *find_answer(const char *line)
{
    size_t len = strcspn(line, " \t\n");

    for (size_t i = 0; len && i < ARRAY_LEN(answers); i++)
        if (!strncmp(answers[i].word, line, len))
            return &answers[i];
    return NULL;
}

/* Ctrl-C ends the question, and the changes stay kept. */
static void let_signals_end_us(void)
{
    sigset_t interrupt;

    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigaddset(&interrupt, SIGQUIT);
    (void)sigaddset(&interrupt, SIGHUP);
    (void)sigaddset(&interrupt, SIGTERM);
    (void)sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

void changes_menu_ask(const sbr_result *result)
{
    char line[64] = "";

    if (!result->changes_id[0] || !result->changes || !result->changes->n)
        return;
    (void)tcflush(STDIN_FILENO, TCIFLUSH); /* typed for the program */
    let_signals_end_us();
    for (;;) {
        const struct answer *answer;

        fputs("sandbox-run: apply, diff, pick, keep or drop? [k] ", stderr);
        fflush(stderr);
        if (!fgets(line, sizeof(line), stdin) || line[0] == '\n') {
            if (line[0] != '\n')
                fputc('\n', stderr);
            (void)keep(result);
            return;
        }
        answer = find_answer(line);
        if (answer && answer->act(result))
            return;
        if (!answer)
            fputs("sandbox-run: answer with one of these words, or its first letter\n", stderr);
    }
}
