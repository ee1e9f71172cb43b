/* Memory that a zygote and its workers must not share. */
#ifndef WORKER_PRIVATE_MEMORY_H
#define WORKER_PRIVATE_MEMORY_H

/* In a zygote, before its first worker: replaces all memory that a worker could write to and the
 * zygote or another worker would read by a private copy; 0 or -1. */
int private_memory_take(void);

/* In a zygote: copies shall have all memory, also what the runtime keeps from them (V8 does,
 * because its threads would be missing); 0 or -1. */
int private_memory_inherit(void);

/* In a new worker: replaces the random bytes that the kernel gave the zygote; 0 or -1. */
int private_memory_random(void);

#endif
