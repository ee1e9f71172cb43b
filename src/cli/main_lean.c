/* The lean program: `run` and `exec`, which start often.  For everything else it executes the full
 * program, which stands beside it in a build tree and under libexec when installed. */
#include "cli/cli.h"

static int hand_over(char **argv, sbr_error *err)
{
    return companion_exec("sandbox-run-full", argv, err);
}

int main(int argc, char **argv)
{
    static const struct command *const lean[] = { &cmd_run, &cmd_exec, NULL };
    static const struct program program = { .commands = lean, .hand_over = hand_over };

    return cli_main(&program, argc, argv);
}
