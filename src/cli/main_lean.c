/* The lean program: `run` and `exec`, which start often.  For everything else it executes the full
 * program, which stands beside it in a build tree and under libexec when installed. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const places[] = { "sandbox-run-full",
                                      "../libexec/sandbox-run/sandbox-run-full" };

/* The directory of this program; without /proc, from the path that was executed. */
static int find_own_directory(char *dir, size_t size, sbr_error *err)
{
    const char *executed = (const char *)getauxval(AT_EXECFN); /* NOLINT: as the kernel gives it */
    ssize_t len = readlink("/proc/self/exe", dir, size - 1);
    char *slash;

    if (len >= 0)
        dir[len] = '\0';
    else
        snprintf(dir, size, "%s", executed ? executed : "");
    slash = strrchr(dir, '/');
    if (!slash)
        return err_set_errno(err, "command", "cannot find the program's own directory");
    *slash = '\0';
    return 0;
}

static int hand_over(char **argv, sbr_error *err)
{
    char own[4096], path[4200];

    if (find_own_directory(own, sizeof(own), err) < 0)
        return err->code;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof(path), "%s/%s", own, places[i]);
        execv(path, argv);
    }
    return err_set_errno(err, "command", "cannot execute '%s', which has the other commands", path);
}

int main(int argc, char **argv)
{
    static const struct command *const lean[] = { &cmd_run, &cmd_exec, NULL };
    static const struct program program = { .commands = lean, .hand_over = hand_over };

    return cli_main(&program, argc, argv);
}
