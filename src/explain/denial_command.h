/* A command that is not inside because the request allows others only: its name in a message. */
#ifndef EXPLAIN_DENIAL_COMMAND_H
#define EXPLAIN_DENIAL_COMMAND_H

#include "model/denial.h"
#include "plan/plan.h"

/* `line` is one line of stderr, without its end. */
void denial_command_note(const struct plan *plan, const char *line, size_t len,
                         struct denials *ret);

#endif
