/* sandbox-run: finds the command, parses its options, runs it. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/present.h"
#include "cli/user_languages.h"

#define DESCRIPTORS_WANTED 256

/* clang-format off */
const struct command *const commands[] = {
    &cmd_run, &cmd_exec, &cmd_plan, &cmd_explain, &cmd_changes, &cmd_apply, &cmd_undo, &cmd_workspace,
    &cmd_serve, &cmd_languages, &cmd_cache, &cmd_doctor, &cmd_completion, &cmd_help, NULL
};
/* clang-format on */

const struct command *cli_find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

/* False when it could not be written, or when what was to be written before could not. */
static bool print_error_json(const sbr_error *err)
{
    char *json = ferror(stdout) ? NULL : result_error_to_json(err);

    if (ferror(stdout))
        return false;
    printf("%s\n", json ? json : "{\"success\":false,\"outcome\":\"internal_error\"}");
    free(json);
    return fflush(stdout) == 0 && !ferror(stdout);
}

int cli_fail(const struct options *o, const sbr_error *err)
{
    if (!o->json || (!print_error_json(err) && err->sys_errno != EPIPE))
        present_error(err, o);
    if (ferror(stdout)) { /* said, or nobody is there to be told */
        __fpurge(stdout);
        clearerr(stdout);
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

/* Help, a plan or a diagnosis of which a part is missing is a failure.  A reader that left wants no
 * more. */
static int check_stdout(const struct options *o, int status)
{
    sbr_error err;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    errno = EIO; /* stdio forgot the reason: ask for it once more */
    if (write(STDOUT_FILENO, "\n", 1) < 0 && errno == EPIPE)
        return status;
    err_set_errno(&err, "output", "cannot write to stdout");
    present_error(&err, o);
    return EXIT_OURS;
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
        status = user_languages(&o, &err) < 0 ? cli_fail(&o, &err) : command->run(&o);
    }
    status = check_stdout(&o, status);
    options_done(&o);
    return status;
}

/* A descriptor 0, 1 or 2 that is closed would be given to the next file that is opened. */
static int claim_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int opened = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fd;

        if (opened < 0) /* no /dev/null: then the run is going to say so, but not into a file */
            opened = open("/", O_PATH | O_CLOEXEC);
        if (opened != fd)
            return -1;
    }
    return 0;
}

/* Of descriptors we need a few dozen; a program's own limit is set inside. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    const struct command *command = argc > 1 ? cli_find_command(argv[1]) : NULL;
    struct options none = { 0 };
    sbr_error err;

    if (claim_standard_descriptors() < 0)
        return EXIT_OURS;
    raise_descriptor_limit();
    signal(SIGPIPE, SIG_IGN); /* lint-ok: signal: a reader that left is seen as EPIPE */
    signal(SIGXFSZ, SIG_IGN); /* lint-ok: signal: a file that may not grow is seen as EFBIG */
    if (command)
        return run_command(command, argv, argv + 2);
    if (argc == 1 && isatty(STDIN_FILENO)) {
        help_overview();
        return check_stdout(&none, 0);
    }
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        help_overview();
        return check_stdout(&none, 0);
    }
    if (argc > 1 && argv[1][0] != '-' && access(argv[1], F_OK) < 0) {
        unknown_command(argv[1], &err);
        return cli_fail(&none, &err);
    }
    return run_command(&cmd_run, argv, argv + 1);
}
