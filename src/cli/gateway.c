#include "cli/gateway.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/companion.h"

#define PROGRAM "sandbox-run-http"

void gateway_add(struct gateway_command *command, const char *option, const char *value)
{
    if (option && command->n <= GATEWAY_MAX_WORDS)
        command->words[command->n++] = option;
    if (command->n <= GATEWAY_MAX_WORDS)
        command->words[command->n++] = value;
}

int gateway_exec(const struct gateway_command *command, sbr_error *err)
{
    if (command->n > GATEWAY_MAX_WORDS)
        return err_set(err, SBR_E_INVALID, "options", "these are too many options");
    if (companion_exec(PROGRAM, (char *const *)command->words, err) < 0 && errno == ENOENT)
        err_set(err, SBR_E_UNSUPPORTED, "command",
                "the program `" PROGRAM "` is not there: install libmicrohttpd-dev, "
                "libsodium-dev and libwslay-dev, and build again");
    return err->code;
}

pid_t gateway_start(const struct gateway_command *command, sbr_error *err)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        return err_set_errno(err, "command", "cannot start `" PROGRAM "`");
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() == parent && gateway_exec(command, err) < 0)
        fprintf(stderr, "sandbox-run: %s\n", err->message);
    _exit(EXIT_OURS);
}

void gateway_stop(pid_t pid)
{
    if (pid <= 0 || kill(pid, SIGTERM) < 0)
        return;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
