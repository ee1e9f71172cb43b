/* A session is made by executing our own program: the maker may have threads, and a forked copy of
 * it would inherit their locks.
 *
 * The program gets the request, and what the maker's process knows besides, in sealed memory. */
#ifndef SESSION_SESSION_PROGRAM_H
#define SESSION_SESSION_PROGRAM_H

#include "session/supervisor.h"

#define SESSION_PROGRAM_NAME "sandbox-session"

/* Starts the program for the session, with copies of its directory, its lock and ready_fd. */
int session_program_start(const struct session *s, sbr_error *err) must_check;

/* In the program: forks, so that its maker need not wait, and takes over what the maker has given.
 * On failure *err says why; ret->ready_fd is -1 if nobody can hear that. */
int session_program_take(struct session *ret, sbr_error *err) must_check;

#endif
