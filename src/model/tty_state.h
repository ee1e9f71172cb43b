/* How a program has set its terminal. */
#ifndef MODEL_TTY_STATE_H
#define MODEL_TTY_STATE_H

#include <stdbool.h>

struct tty_state {
    bool lines;     /* it reads whole lines; the terminal edits them */
    bool signals;   /* keys send signals */
    bool own_group; /* no job of the program has the terminal, but the program itself */
    char interrupt_key, suspend_key;
};

#endif
