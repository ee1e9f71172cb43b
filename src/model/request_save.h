/* The trees of a request whose names the caller did not choose: where files of the host that are
 * written on behalf of the run follow no link (base/save.h). */
#ifndef MODEL_REQUEST_SAVE_H
#define MODEL_REQUEST_SAVE_H

#include "base/save.h"
#include "model/request.h"

/* Project, `cow` and `rw` volumes.  Adds to what is there. */
int request_save_trees(const sbr_request *req, struct save_trees *trees, sbr_error *err) must_check;

#endif
