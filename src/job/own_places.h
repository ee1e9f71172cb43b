/* Directories of ours that no program may have as a volume.
 *
 * The supervisor trusts what is in the cache, in the state and among the user's languages because
 * it belongs to its user: it runs compiled programs, applies kept changes, obeys languages.  A
 * program in a sandbox of an ordinary user has the same user.  So an `rw` volume may neither hold
 * one of these directories nor lie in one, even before the directory exists.  And no volume is the
 * directory of the engine's socket. */
#ifndef JOB_OWN_PLACES_H
#define JOB_OWN_PLACES_H

#include "base/err.h"
#include "model/request.h"

/* `option` is how the user named the source, for the message. */
int own_places_check(const char *option, const char *source, enum volume_mode mode, sbr_error *err)
    must_check;

/* The directory of the user's settings; false when the environment names none. */
bool own_places_config(char *path, size_t size);

#endif
