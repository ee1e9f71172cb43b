/* A session is made by executing our own program: the maker may have threads, and a forked copy of
 * it would inherit their locks.
 *
 * The program gets the request, and what the maker's process knows besides, in sealed memory. */
#ifndef SESSION_SESSION_PROGRAM_H
#define SESSION_SESSION_PROGRAM_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "session/session_dir.h"
#include "session/supervisor.h"

#define SESSION_PROGRAM_NAME "sandbox-session"

/* Starts the program for the session, with copies of its directory, its lock and ready_fd. */
int session_program_start(const struct session *s, sbr_error *err) must_check;

/* In the program: forks, so that its maker need not wait, and takes over what the maker has given.
 * On failure *err says why; ret->ready_fd is -1 if nobody can hear that. */
int session_program_take(struct session *ret, sbr_error *err) must_check;

/* SIGTERM ends a session in order: clients hear of it, changes are kept, and `session list` says
 * why.  What is left can be restored, because a machine that goes down sends it, too. */
void end_signal_start(struct session *s);

/* The client's side of a session: connects to the supervisor, sends lines, reads lines. */
struct sbr_session {
    char id[SESSION_ID_SIZE];
    int fd;
    struct buf in;
    atomic_int line;           /* who writes one, see session_client.c */
    atomic_bool ends;          /* interrupts are to end the cell, see session_client_end_cell */
    unsigned int width;        /* of values; 0: as they come */
    sbr_session_read_fn *read; /* of lines that cells ask for; NULL: there are none */
    void *read_context;
};

/* Of a session whose directory is open. */
int session_client_connect(const struct session_dir *dir, sbr_session **ret, sbr_error *err)
    must_check;
int session_client_open(const char *id, sbr_session **ret, sbr_error *err) must_check;
void session_client_free(sbr_session *s);
/* Sends one object as a line. */
int session_client_send(sbr_session *s, const json_t *request, sbr_error *err) must_check;
/* Sends an interrupt, between two lines; any thread and any signal handler may. */
int session_client_interrupt(sbr_session *s) must_check;
/* The same, but a cell that does not end by it is given little time, whatever its grace is. */
int session_client_end_cell(sbr_session *s) must_check;
/* The next line, without its newline; the caller frees it. */
int session_client_read(sbr_session *s, char **ret, size_t *ret_len, sbr_error *err) must_check;
/* Reads an error object of the session; its code. */
int session_client_error(const json_t *error, sbr_error *err);
/* What is known of a session without its supervisor; the caller owns it.  NULL without memory. */
json_t *session_client_remains(const struct session_dir *dir);

#endif
