/* sandbox-run: finds the command, parses its options, runs it. */
#include "frontend/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "frontend/help.h"
#include "frontend/present.h"

const struct command *const commands[] = { &cmd_run,        &cmd_exec, &cmd_plan, &cmd_doctor,
                                           &cmd_completion, &cmd_help, NULL };

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

int cli_fail(const struct options *o, const sbr_error *err)
{
    if (o->json) {
        char *json = error_to_json(err);

        printf("%s\n", json ? json : "{\"success\":false,\"outcome\":\"internal_error\"}");
        free(json);
    } else {
        present_error(err, o);
    }
    if (err->code == SBR_E_NOT_FOUND)
        return EXIT_NOT_FOUND;
    return err->code == SBR_E_DENIED ? EXIT_DENIED : EXIT_OURS;
}

/* A first word that is neither command, option nor file is most likely a misspelt command. */
static int unknown_command(const char *word, sbr_error *err)
{
    const char *names[ARRAY_LEN(commands)], *near;
    size_t n = 0;

    for (; commands[n]; n++)
        names[n] = commands[n]->name;
    near = text_nearest(word, names, n);
    return err_set(err, SBR_E_NOT_FOUND, "command", "there is no command or file '%.100s'%s%s%s",
                   word, near ? "; did you mean `sandbox-run " : "; see `sandbox-run --help`",
                   near ? near : "", near ? "`?" : "");
}

static void open_log(const struct options *o)
{
    const char *level = getenv("SANDBOX_RUN_LOG");

    if (o->verbose)
        log_open(o->verbose > 1 ? LOG_DEBUG : LOG_INFO, STDERR_FILENO);
    else if (level)
        log_open(log_level_from_name(level), STDERR_FILENO);
}

static int run_command(const struct command *command, char **whole, char **argv)
{
    struct options o = { .argv = whole, .want_rest = command->command_line };
    sbr_error err;
    int status;

    if (options_parse(&o, argv, command->bit, &err) < 0) {
        status = cli_fail(&o, &err);
    } else if (o.help) {
        help_command(command);
        status = 0;
    } else if (o.version) {
        help_version();
        status = 0;
    } else {
        open_log(&o);
        status = command->run(&o);
    }
    options_done(&o);
    return status;
}

/* A descriptor 0, 1 or 2 that is closed would be given to the next file that is opened. */
static int claim_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int opened = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fd;

        if (opened != fd)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
    struct options none = { 0 };
    sbr_error err;

    if (claim_standard_descriptors() < 0)
        return EXIT_OURS;
    signal(SIGPIPE, SIG_IGN); /* lint-ok: signal: a reader that left is seen as EPIPE */
    if (command)
        return run_command(command, argv, argv + 2);
    if (argc == 1 && isatty(STDIN_FILENO)) {
        help_overview();
        return 0;
    }
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        help_overview();
        return 0;
    }
    if (argc > 1 && argv[1][0] != '-' && access(argv[1], F_OK) < 0) {
        unknown_command(argv[1], &err);
        return cli_fail(&none, &err);
    }
    return run_command(&cmd_run, argv, argv + 1);
}
