/* Faults in the pages of memory that a program will need. */
#ifndef WORKER_PREFAULT_H
#define WORKER_PREFAULT_H

/* In the zygote, before and after a copy of it runs a sample; 0 or -1. */
int prefault_begin(void);
void prefault_end(void);
/* In that copy, at its beginning. */
void prefault_is_sample(void);

/* In a copy of the zygote that has run a program to its end: notes the pages that it touched. */
void prefault_note(void);

/* In a new worker: touches the same pages, before a client waits for it. */
void prefault_repeat(void);

#endif
