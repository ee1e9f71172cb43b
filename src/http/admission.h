/* Room for one more run or session: memory and disk are reserved, so that this machine is not
 * overcommitted.
 *
 * An engine reserves memory itself and lets runs wait.  Without one there is no queue, and what
 * does not fit is refused. */
#ifndef HTTP_ADMISSION_H
#define HTTP_ADMISSION_H

#include "config/config.h"

struct server;

/* `http.memory` of the configuration, or nine tenths of the memory. */
int admission_open(const struct config *config, uint64_t *ret_memory, sbr_error *err) must_check;

/* What something that runs may use: memory, and bytes of the disk that it may leave. */
struct admission_need {
    uint64_t memory, disk;
};
/* Of a run: the memory of the stage that needs most; workspace, kept changes and kept output. */
struct admission_need admission_need_of(const sbr_request *req);
/* Of work on code, whose limits are larger, with any language that its files may have.  `keeps`:
 * how many of its runs keep their changes, also without `keep`. */
struct admission_need admission_need_of_work(const sbr_request *req, unsigned int keeps);
/* SBR_E_BUSY: it does not fit now. */
int admission_check(struct server *server, const struct admission_need *need, sbr_error *err)
    must_check;

/* The memory of sessions, which are no children of the gateway and may outlive it. */
struct admission_sessions {
    uint64_t memory, looked_us; /* of those that live, and when that was so */
    uint64_t making;            /* of those that are being made, and of calls and commands */
};
/* Reserves memory for a session, for a call of an agent, or for a command in a workspace;
 * SBR_E_BUSY as above. */
int admission_begin_session(struct server *server, uint64_t memory, sbr_error *err) must_check;
/* It lives, or it could not be made; or the call is over. */
void admission_end_session(struct server *server, uint64_t memory);
/* In any thread: false when sessions alone have more than there is. */
bool admission_has_sessions(const struct server *server);

#endif
