/* What the driver of a zygote calls (languages/drivers); the zygote has the descriptors of wire/zygote.h. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stddef.h>
#include <sys/types.h>
#include <wchar.h>

#define worker_api __attribute__((visibility("default")))

/* Makes workers for as long as there are orders.  Returns DRIVER_GO in each worker, which is confined by then and has said
 * its pid, and -1 in the zygote once there is nothing left to do: it shall end then. */
worker_api int sbr_worker_next(void);

/* Makes a copy of the zygote, which shall run some program to its end: 0 in the copy, 1 in the zygote when it has ended,
 * or -1.  Workers then have at hand what that program needed. */
worker_api int sbr_worker_rehearse(void);

/* Python: whether that file is a program of the usual kind, and nothing beside it would be found instead of one of
 * `modules`: names, each with its NUL, and an empty one. */
worker_api int sbr_worker_can_run(const char *script, const char *modules);

/* Where the interpreter keeps the path of its program.  With `lead` it was made absolute, by so many characters before. */
struct script_place {
    wchar_t *at;
    size_t lead;
};

/* Puts a path where the placeholder still stands. */
worker_api void sbr_worker_put_script(const struct script_place *places, int n,
                                      const wchar_t *placeholder, const wchar_t *script,
                                      const wchar_t *absolute);

/* Python: in the zygote, when all is loaded; 0 or -1. */
worker_api int sbr_worker_prepare_finish(void);
/* Ends the finalisation.  As the destructor of an object that is destroyed when all of the program's are; with NULL where
 * none of them has anything to say at its end. */
worker_api void sbr_worker_finish(void *object);
/* Something is out of the ordinary: everything shall be done the long way. */
worker_api void sbr_worker_finish_all(void);

/* Remembers how large these dictionaries are; `dictionaries` must stay where it is.  0 or -1. */
worker_api int sbr_worker_watch(const ssize_t *const *dictionaries, int n);
/* The first of them from number `from` on that has another size now, or -1.  Looks without touching. */
worker_api int sbr_worker_changed(int from);

#endif
