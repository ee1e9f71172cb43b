/* The file descriptors of a zygote's runtime: those of its event loops, and files that it reads. */
#ifndef WORKER_OWN_FDS_H
#define WORKER_OWN_FDS_H

/* In a zygote, when all its threads are stopped: notes what each of them is.  0, or -1 when one is
 * of a kind that cannot be made again. */
int own_fds_note(void);

/* In a copy: replaces each by a new one of the same kind, in the same state; 0 or -1. */
int own_fds_renew(void);

/* Closes all file descriptors from `first` on, except these; 0 or -1. */
int own_fds_close_others(unsigned int first);

#endif
