/* For the program's main(): it becomes the supervisor of a session when another process of ours has
 * executed it for that (session/session_program.h). */
#ifndef SESSION_SESSION_ENTRY_H
#define SESSION_SESSION_ENTRY_H

#include <stdbool.h>

/* Also notes that this program can be executed for sessions. */
bool session_program_is_wanted(char *const *argv);
/* Runs until the session ends; what main() returns. */
int supervisor_main(void);

#endif
