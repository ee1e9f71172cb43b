/* Functions for the driver of a zygote (languages/drivers); the zygote has the file
 * descriptors of wire/zygote.h. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stddef.h>
#include <sys/types.h>
#include <wchar.h>

#define worker_api __attribute__((visibility("default")))

/* Makes workers as long as orders come.  Returns DRIVER_GO in each worker, which is confined and
 * has sent its pid by then, and -1 in the zygote when no order will come: it shall exit then. */
worker_api int sbr_worker_next(void);

/* Inside of the library: the zygote's blueprint, or NULL; and a command that all further workers
 * execute, instead of being copies. */
struct plan;
const struct plan *worker_plan(void);
void worker_execute(char *const *command);

/* Makes a copy of the zygote, which shall run some program to its end: 0 in the copy, 1
 * in the zygote when the copy has ended, or -1.  Workers then fault in the pages that
 * this program needed. */
worker_api int sbr_worker_prefault(void);

/* Python: true when that file is a plain program and no file beside it would be found instead of
 * one of `modules`: names, each with its NUL, and an empty one. */
worker_api int sbr_worker_can_run(const char *script, const char *modules);

/* Where the interpreter keeps the path of its program.  `lead`: characters before `at` that make
 * the path absolute; 0: it is not. */
struct script_place {
    wchar_t *at;
    size_t lead;
};

/* Writes a path wherever the placeholder still is. */
worker_api void sbr_worker_put_script(const struct script_place *places, int n,
                                      const wchar_t *placeholder, const wchar_t *script,
                                      const wchar_t *absolute);

/* Python: to be called in the zygote when all modules are loaded; 0 or -1. */
worker_api int sbr_worker_prepare_finish(void);
/* Ends the finalisation early.  Serves as the destructor of an object that is destroyed after all
 * of the program's objects; is called with NULL where none of those has a destructor to run. */
worker_api void sbr_worker_finish(void *object);
/* Makes the whole finalisation run, because the state is unusual. */
worker_api void sbr_worker_finish_all(void);

/* Remembers the sizes of these dictionaries; `dictionaries` must stay where it is.  0 or -1. */
worker_api int sbr_worker_watch(const ssize_t *const *dictionaries, int n);
/* The first dictionary from number `from` on whose size has changed, or -1.  Only reads memory. */
worker_api int sbr_worker_changed(int from);

#endif
