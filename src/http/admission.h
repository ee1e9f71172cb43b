/* Room for one more run: memory and disk are reserved, so that this machine is not overcommitted.
 *
 * An engine reserves memory itself and lets runs wait.  Without one there is no queue, and what
 * does not fit is refused. */
#ifndef HTTP_ADMISSION_H
#define HTTP_ADMISSION_H

#include "config/config.h"

struct server;

/* `http.memory` of the configuration, or nine tenths of the memory. */
int admission_open(const struct config *config, uint64_t *ret_memory, sbr_error *err) must_check;
/* SBR_E_BUSY: it does not fit now. */
int admission_check(const struct server *server, const sbr_request *req, sbr_error *err) must_check;

/* Bytes of the disk that a run may leave: of its workspace and its kept output. */
uint64_t admission_disk_of(const sbr_request *req);

#endif
