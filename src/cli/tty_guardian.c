#include "cli/tty_guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

/* The guardian's own file descriptors. */
enum { GUARDIAN_TTY, GUARDIAN_OUT, GUARDIAN_OWNER, N_GUARDIAN_FDS };

/* The terminal's owner may have changed it already, as a shell does whose job was killed: then it
 * is theirs. */
static bool is_raw(const struct user_tty_state *state)
{
    struct termios now;

    return tcgetattr(GUARDIAN_TTY, &now) == 0 && now.c_lflag == state->raw.c_lflag &&
           now.c_iflag == state->raw.c_iflag && now.c_oflag == state->raw.c_oflag;
}

static void __attribute__((noreturn)) guard(const struct user_tty_state *state)
{
    struct pollfd owner = { .fd = GUARDIAN_OWNER, .events = POLLIN };
    char out[TERMINAL_MOST_MODES];
    size_t len;

    while (poll(&owner, 1, -1) < 0 && errno == EINTR)
        continue;
    if (is_raw(state))
        (void)tcsetattr(GUARDIAN_TTY, TCSANOW, &state->before);
    len = terminal_leave_modes(state->modes, out);
    if (len)
        (void)fd_write_all(GUARDIAN_OUT, out, len);
    _exit(0);
}

/* Signals that the terminal or a user sends to us are not for the guardian; and changing the
 * terminal from its background must not stop it. */
static void ignore_signals(void)
{
    static const int numbers[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                   SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE };
    struct sigaction ignore = { .sa_handler = SIG_IGN };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        (void)sigaction(numbers[i], &ignore, NULL);
}

/* Everything else is closed, so that no reader waits for the guardian's end. */
static bool keep_only(int tty_fd, int owner)
{
    const int wanted[N_GUARDIAN_FDS] = { tty_fd, STDOUT_FILENO, owner };
    int high[N_GUARDIAN_FDS];

    for (int i = 0; i < N_GUARDIAN_FDS; i++)
        if ((high[i] = fcntl(wanted[i], F_DUPFD, N_GUARDIAN_FDS)) < 0)
            return false;
    for (int i = 0; i < N_GUARDIAN_FDS; i++)
        if (dup2(high[i], i) < 0)
            return false;
    return syscall(SYS_close_range, N_GUARDIAN_FDS, ~0U, 0) == 0;
}

pid_t tty_guardian_start(int tty_fd, const struct user_tty_state *state)
{
    int owner = (int)syscall(SYS_pidfd_open, getpid(), 0);
    pid_t pid = owner < 0 ? -1 : fork();

    if (pid == 0) {
        setpgid(0, 0);
        ignore_signals();
        prctl(PR_SET_NAME, "tty-guardian", 0, 0, 0);
        if (!keep_only(tty_fd, owner))
            _exit(1);
        guard(state);
    }
    if (owner >= 0)
        close(owner);
    return pid;
}

void tty_guardian_dismiss(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
