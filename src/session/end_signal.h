/* SIGTERM ends a session in order: clients hear of it, changes are kept, and `session list` says
 * why.  What is left can be restored, because a machine that goes down sends it, too. */
#ifndef SESSION_END_SIGNAL_H
#define SESSION_END_SIGNAL_H

#include "session/supervisor.h"

void end_signal_start(struct session *s);

#endif
