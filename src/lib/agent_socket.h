/* The way from another terminal to a running agent: what it changed until now is kept under an id,
 * and it learns what of that was made real.  One socket for each, in the state directory. */
#ifndef LIB_AGENT_SOCKET_H
#define LIB_AGENT_SOCKET_H

#include <stddef.h>

#include "base/err.h"

/* Listens as this process; the caller closes *ret_fd. */
int agent_socket_listen(int *ret_fd, sbr_error *err) must_check;
/* Serves those that wait at `fd`, inside dispatch of the job. */
void agent_socket_serve(int fd, sbr_job *job);
void agent_socket_remove(void);

#define AGENT_REPLY_SIZE 512
#define AGENT_ALLOW "allow "
/* Asks the only agent that runs, or the one of this process id: "save", whose reply is an id or
 * empty, "applied ID", or AGENT_ALLOW and a host, whose reply is the rule. */
int agent_socket_ask(const char *pid, const char *order, char reply[AGENT_REPLY_SIZE],
                     sbr_error *err) must_check;

#endif
