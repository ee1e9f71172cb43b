#include "explain/denial_text.h"

#include <stdio.h>
#include <string.h>

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-"
#define NAME_MOST 100

static bool is_plain(char c)
{
    return c && strchr(PLAIN, c);
}

static bool has_some_commands(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].flags & OP_NOEXEC)
            return true;
    return false;
}

/* zsh: the name comes last. */
static size_t name_behind(const char *line, size_t len, const char **ret)
{
    static const char words[] = "command not found: ";
    const char *at = memmem(line, len, words, sizeof(words) - 1);
    size_t n = 0;

    if (!at)
        return 0;
    *ret = at + sizeof(words) - 1;
    while (*ret + n < line + len && is_plain((*ret)[n]))
        n++;
    return *ret + n == line + len ? n : 0;
}

/* Shells, and those commands that start others. */
static const struct {
    const char *begin, *end;
} forms[] = {
    { "", ": command not found" },
    { "", ": not found" },
    { "env: ", "': No such file or directory" },
    { "env: ", "\342\200\231: No such file or directory" },
    { "find: ", "': No such file or directory" },
    { "find: ", "\342\200\231: No such file or directory" },
    { "xargs: ", ": No such file or directory" },
    { "timeout: ", "': No such file or directory" },
    { "timeout: ", "\342\200\231: No such file or directory" },
};

static size_t name_before(const char *line, size_t len, const char **ret)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        size_t begin = strlen(forms[i].begin), end = strlen(forms[i].end), n = 0;

        if (begin + end >= len || memcmp(line, forms[i].begin, begin) != 0 ||
            memcmp(line + len - end, forms[i].end, end) != 0)
            continue;
        while (n < len - end - begin && is_plain(line[len - end - n - 1]))
            n++;
        *ret = line + len - end - n;
        return n;
    }
    return 0;
}

void denial_command_note(const struct plan *plan, const char *line, size_t len, struct denials *ret)
{
    const char *name = NULL;
    size_t n = name_behind(line, len, &name);
    char remedy[sizeof(ret->items->remedy)];

    if (!n)
        n = name_before(line, len, &name);
    if (!n || n > NAME_MOST || !has_some_commands(plan))
        return;
    snprintf(remedy, sizeof(remedy), "--allow-command %.*s", (int)n, name);
    denials_note(ret, DENIAL_FILE, "stderr: commands: only the allowed ones exist", remedy, "%.*s",
                 (int)n, name);
}
