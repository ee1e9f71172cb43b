#include "cli/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/cli.h"

#define READY_FD 3 /* in the child */
#define TEXT_OF_(number) #number
#define TEXT_OF(number) TEXT_OF_(number)

/* clang-format off */
#define ROW_OF_VALUE(field, name, metavar, help)                                                   \
    { 0, name, metavar, "with --http: " help, OPTION_OWN(struct gateway_options, field) },
#define ROW_OF_SWITCH(field, name, help)                                                           \
    { 0, name, NULL, "with --http: " help, OPTION_OWN(struct gateway_options, field) },
const struct option gateway_option_rows[] = {
    { 0, "http", "ADDRESS:PORT", "serve HTTP, too, as in 127.0.0.1:8710 (docs/http.md)",
      OPTION_OWN(struct gateway_options, address) },
    GATEWAY_OPTIONS(ROW_OF_VALUE, ROW_OF_SWITCH)
    { 0 },
};
/* clang-format on */

#define NAME_VALUE(field, name, metavar, help) given->field.n ? name:
#define NAME_SWITCH(field, name, help) given->field ? name:
int gateway_check(const struct gateway_options *given, sbr_error *err)
{
    const char *option = GATEWAY_OPTIONS(NAME_VALUE, NAME_SWITCH) NULL;

    if (given->address || !option)
        return 0;
    return err_set(err, SBR_E_INVALID, "options",
                   "--%s is for the HTTP gateway; give --http ADDRESS:PORT with it", option);
}

void gateway_add(struct gateway_command *command, const char *option, const char *value)
{
    if (option && command->n <= GATEWAY_MAX_WORDS)
        command->words[command->n++] = option;
    if (value && command->n <= GATEWAY_MAX_WORDS)
        command->words[command->n++] = value;
}

static void add_each(struct gateway_command *command, const char *option, const struct texts *given)
{
    for (size_t i = 0; i < given->n; i++)
        gateway_add(command, option, given->items[i]);
}

#define ADD_VALUE(field, name, metavar, help) add_each(command, "--" name, &given->field);
#define ADD_SWITCH(field, name, help)                                                              \
    if (given->field)                                                                              \
        gateway_add(command, "--" name, NULL);
void gateway_fill(struct gateway_command *command, const struct gateway_options *given)
{
    gateway_add(command, NULL, GATEWAY_PROGRAM);
    gateway_add(command, "--" GATEWAY_ADDRESS_OPTION, given->address);
    gateway_add(command, "--" GATEWAY_READY_OPTION, TEXT_OF(READY_FD));
    GATEWAY_OPTIONS(ADD_VALUE, ADD_SWITCH)
}

int gateway_exec(const struct gateway_command *command, sbr_error *err)
{
    if (command->n > GATEWAY_MAX_WORDS)
        return err_set(err, SBR_E_INVALID, "options", "these are too many options");
    if (companion_exec(GATEWAY_PROGRAM, (char *const *)command->words, err) < 0 && errno == ENOENT)
        err_set(err, SBR_E_UNSUPPORTED, "command",
                "the program `" GATEWAY_PROGRAM "` is not there: install libmicrohttpd-dev, "
                "libsodium-dev, libsqlite3-dev and libwslay-dev, and build again");
    return err->code;
}

/* The engine's own descriptors close with the exec.  Its signals are blocked. */
static bool arrange_child(int ready_fd, int words_fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (words_fd >= 0 && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
                          dup2(words_fd, STDERR_FILENO) < 0))
        return false;
    return ready_fd == READY_FD ? fcntl(ready_fd, F_SETFD, 0) == 0
                                : dup2(ready_fd, READY_FD) == READY_FD;
}

pid_t gateway_start(const struct gateway_command *command, int ready_fd, int words_fd,
                    sbr_error *err)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        return err_set_errno(err, "command", "cannot start `" GATEWAY_PROGRAM "`");
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (arrange_child(ready_fd, words_fd) && getppid() == parent && gateway_exec(command, err) < 0)
        dprintf(STDERR_FILENO, "sandbox-run: %s\n", err->message);
    _exit(EXIT_OURS);
}
