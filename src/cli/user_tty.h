/* The user's terminal, while a program has one of its own.
 *
 * Every key goes to the program's terminal, which turns some into signals for what runs in its
 * foreground.  So ours passes all keys on unread (raw), whenever we are in its foreground, and is
 * as before when we stop or end.  Should we be killed, a small process of ours restores it. */
#ifndef CLI_USER_TTY_H
#define CLI_USER_TTY_H

#include <stdatomic.h>
#include <termios.h>

#include "cli/options.h"
#include "cli/terminal.h"

/* Shared with the guardian. */
struct user_tty_state {
    struct termios before, raw;
    _Atomic uint32_t modes; /* that the program has switched: see cli/terminal.h */
};

struct user_tty {
    int fd;                       /* where the user types; -1: not to us */
    bool interactive;             /* the program has a terminal that the user types into */
    bool running;                 /* that terminal is there */
    struct user_tty_state *state; /* NULL: the terminal was never raw */
    bool raw;
    bool raw_output;         /* --raw: the program may do anything to the terminal */
    pid_t guardian;          /* 0: none */
    int timer_fd;            /* looks whether we have come to the foreground */
    bool waits;              /* the timer is set */
    uint64_t interrupted_us; /* the last key that interrupts */
    uint64_t quit_us;        /* the first of the keys that end the run whatever the program does */
    unsigned int quits;
    sbr_job **job; /* *job NULL: not started yet */
};

/* Decides whether the program gets a terminal, and which of its streams are it; `stdin_fd` is where
 * its input comes from, -1: nowhere. */
int user_tty_request(struct options *o, int stdin_fd, sbr_error *err) must_check;

void user_tty_init(struct user_tty *tty, const struct options *o, int stdin_fd);
/* False while we are in the background of the terminal, where reading would stop us. */
bool user_tty_is_ours(const struct user_tty *tty);
/* The program's terminal is there. */
void user_tty_begin(struct user_tty *tty, struct terminal_filter *filter);
/* Keys that the user typed: takes out what is for us, returns how many are left. */
size_t user_tty_keys(struct user_tty *tty, char *data, size_t len);
/* The timer is due. */
void user_tty_look(struct user_tty *tty);
void user_tty_resized(struct user_tty *tty);
/* Stops the run and ourselves, until we are continued. */
void user_tty_suspend(struct user_tty *tty);
/* We were continued. */
void user_tty_continued(struct user_tty *tty);
/* The terminal is as before; may be called again. */
void user_tty_end(struct user_tty *tty);

#endif
