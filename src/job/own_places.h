/* Directories of ours that no program may be given.
 *
 * What is in the cache, in the state and among the user's languages is taken for ours because it belongs to our user:
 * compiled programs are run, kept changes applied, languages obeyed.  A program in a sandbox of an ordinary user is that
 * user.  So a volume that is written to may neither hold one of these directories nor lie in one, also when it has yet to be
 * made.  And no volume is the directory of the engine's socket. */
#ifndef JOB_OWN_PLACES_H
#define JOB_OWN_PLACES_H

#include "base/err.h"
#include "model/request.h"

/* `option` is how the user named the source, for the sentence. */
int own_places_check(const char *option, const char *source, enum volume_mode mode, sbr_error *err)
    must_check;

/* Where the user's own settings are; false when the environment names no such place. */
bool own_places_config(char *path, size_t size);

#endif
