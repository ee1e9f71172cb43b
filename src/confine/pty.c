/* The program's terminal, of the sandbox's own devpts.  Init makes it before the program exists and
 * sends the master side to the supervisor, so that no process inside ever has that side.
 *
 * Without a private devpts (`place`) the supervisor made the terminal: the streams are it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "confine/confiner.h"

static int pty_error(sbr_error *err)
{
    return err_set_errno(err, "pty", "cannot make a terminal for the program");
}

static int pty_apply(struct inside *in, sbr_error *err)
{
    const struct plan_tty *tty = &in->plan->tty;
    const struct winsize size = { .ws_row = (unsigned short)tty->rows,
                                  .ws_col = (unsigned short)tty->columns };
    const struct init_news news = { NEWS_TERMINAL };
    scoped_fd int master = -1;
    int unlocked = 0;

    in->tty_fd = -1;
    if (!tty->rows || in->plan->run_dir)
        return 0;
    master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0 ||
        ioctl(master, TIOCSWINSZ, &size) < 0)
        return pty_error(err);
    in->tty_fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (in->tty_fd < 0 || fd_send(in->control_fd, &news, sizeof(news), &master, 1) < 0)
        return pty_error(err);
    return 0;
}

const struct confiner pty_confiner = { "pty", NULL, pty_apply };
