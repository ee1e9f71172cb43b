/* What a zygote and its workers must not have in common. */
#ifndef WORKER_PRIVATE_MEMORY_H
#define WORKER_PRIVATE_MEMORY_H

/* In a zygote, before its first worker: puts a private copy in the place of all memory that a worker could write to and
 * the zygote or another worker would read; 0 or -1. */
int private_memory_take(void);

/* In a new worker: random bytes of its own where the kernel put them for the zygote; 0 or -1. */
int private_memory_random(void);

#endif
