/* What living sessions may use of the machine's memory: the sum of their limits. */
#ifndef SESSION_SESSION_MEMORY_H
#define SESSION_SESSION_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Of all of this user, whoever made them. */
uint64_t session_memory_of_all(void);
/* Of one; 0: there is no such session. */
uint64_t session_memory_of(const char *id);

/* True while the session of this id lives. */
bool session_memory_is_alive(const char *id);

#endif
