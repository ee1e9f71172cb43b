/* The program's terminal as the supervisor has it: its master side. */
#ifndef MONITOR_PROGRAM_TTY_H
#define MONITOR_PROGRAM_TTY_H

#include <stdbool.h>
#include <stddef.h>

#include "model/tty_state.h"

/* False when it cannot be told. */
bool program_tty_look(int master, struct tty_state *ret);
void program_tty_resize(int master, unsigned int rows, unsigned int columns);

/* What must be written for the program to read end-of-file; `last` is the byte before it.  The
 * number of bytes in `ret`; 0: the program reads single keys, and there is no such thing. */
size_t program_tty_eof(int master, char last, char ret[2]);

#endif
