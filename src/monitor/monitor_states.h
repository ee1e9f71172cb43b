#ifndef SBR_MONITOR_STATES_H
#define SBR_MONITOR_STATES_H

#include "monitor/monitor.h"

/* The job uses slot 5. */
/* clang-format off */
enum { TIMER_DEADLINE, TIMER_GRACE, TIMER_CPU, TIMER_NOTIFY = 6 };
/* clang-format on */

enum monitor_event {
    EV_DEADLINE,  /* wall clock */
    EV_CANCEL,    /* the caller wants the run to end */
    EV_INTERRUPT, /* the user typed what interrupts a program */
    EV_GRACE,     /* the program was asked to end and did not */
    EV_EXCESS,    /* a limit that leaves no time for asking */
    EV_DEAD,      /* init is dead, and with it everything inside */
    N_EVENTS
};

/* Does what the table says for this event in the present state. */
void monitor_handle(struct monitor *m, enum monitor_event event);
bool monitor_program_runs(const struct monitor *m);
/* The program has ended, and its files are wanted. */
bool monitor_hands_out(const struct monitor *m);
/* From now on init must make progress. */
void monitor_collection_began(struct monitor *m);

#endif
