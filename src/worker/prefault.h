/* Faults in the pages of memory that a program will need. */
#ifndef WORKER_PREFAULT_H
#define WORKER_PREFAULT_H

/* In a copy of the zygote that has run a program to its end: notes the pages that it touched. */
void prefault_note(void);

/* In a new worker: touches the same pages, before a client waits for it. */
void prefault_repeat(void);

#endif
