/* Which pages of memory a program needs, and having them at hand. */
#ifndef WORKER_PREFAULT_H
#define WORKER_PREFAULT_H

/* In a copy of the zygote that has run a program to its end: notes the pages that it took. */
void prefault_note(void);

/* In a new worker: takes the same pages, before anybody waits for it. */
void prefault_repeat(void);

#endif
