#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"

static const struct attack *const tables[] = {
    file_attacks, process_attacks,  identity_attacks,  kernel_attacks, socket_attacks,
    ipc_attacks,  resource_attacks, neighbour_attacks, notice_attacks,
};

static void say(const char *word, const char *fmt, va_list args)
{
    char line[4096];
    int n = snprintf(line, sizeof(line), "%s ", word);

    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
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

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct attack *a = tables[i]; a->name; a++)
            if (!strcmp(a->name, argv[1])) {
                if (argc - 2 >= a->n_words)
                    return a->run(argc - 2, argv + 2);
                fprintf(stderr, "attack: %s needs %d words\n", a->name, a->n_words);
                return 2;
            }
    fprintf(stderr, "attack: there is no attack '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
