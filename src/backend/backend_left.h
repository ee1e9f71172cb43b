/* Notes of the containers that an engine has or may have, one file each, beside the directories of
 * the runs.  A run removes its note once the engine has said that the container is gone.  So a note
 * without a directory names a container that its run has left behind, and nothing has to be asked
 * where there is none. */
#ifndef BACKEND_BACKEND_LEFT_H
#define BACKEND_BACKEND_LEFT_H

#include <stdbool.h>

#include "base/err.h"

enum backend_left_end {
    LEFT_REMOVED, /* it was there */
    LEFT_ABSENT,  /* the engine has no such container, or none yet */
    LEFT_UNKNOWN, /* the engine did not say */
};

typedef enum backend_left_end backend_left_remove(void *context, const char *id);

/* `dir_fd` is the directory of all runs; `socket` is the engine's. */
int backend_left_note(int dir_fd, const char *id, const char *socket, sbr_error *err) must_check;
void backend_left_forget(int dir_fd, const char *id);
/* Removes what runs on this engine have left. */
void backend_left_sweep(int dir_fd, const char *socket, backend_left_remove *remove, void *context);

#endif
