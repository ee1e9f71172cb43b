/* Work that goes on after the answer, in a process of its own. */
#ifndef CLI_BACKGROUND_H
#define CLI_BACKGROUND_H

#include <stdbool.h>

/* Set: nothing goes on after the answer. */
#define BACKGROUND_NONE_ENV "SANDBOX_RUN_NO_BACKGROUND"

enum background { BACKGROUND_NONE, BACKGROUND_STARTED, BACKGROUND_HERE };

/* BACKGROUND_HERE in the new process, which has none of the caller's fds and must end by _exit. */
enum background background_begin(void);

#endif
