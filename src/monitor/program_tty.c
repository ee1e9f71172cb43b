#include "monitor/monitor.h"

#include <sys/ioctl.h>
#include <termios.h>

/* Asked of the master, the kernel answers for the program's side. */
bool program_tty_look(int master, struct tty_state *ret)
{
    struct termios settings;
    int group = -1, session = -2;

    if (master < 0 || tcgetattr(master, &settings) < 0)
        return false;
    *ret = (struct tty_state){ .lines = settings.c_lflag & ICANON,
                               .signals = settings.c_lflag & ISIG,
                               .interrupt_key = (char)settings.c_cc[VINTR],
                               .suspend_key = (char)settings.c_cc[VSUSP] };
    /* The program leads the terminal's session, so its own group has the session's number. */
    ret->own_group = ioctl(master, TIOCGPGRP, &group) == 0 &&
                     ioctl(master, TIOCGSID, &session) == 0 && group == session;
    return true;
}

void program_tty_resize(int master, unsigned int rows, unsigned int columns)
{
    const struct winsize size = { .ws_row = (unsigned short)rows,
                                  .ws_col = (unsigned short)columns };

    if (master >= 0)
        (void)ioctl(master, TIOCSWINSZ, &size);
}

size_t program_tty_eof(int master, char last, char ret[2])
{
    struct termios settings;

    if (tcgetattr(master, &settings) < 0 || !(settings.c_lflag & ICANON))
        return 0;
    ret[0] = ret[1] = (char)settings.c_cc[VEOF];
    return last == '\n' ? 1 : 2; /* the first one ends a line that was begun */
}
