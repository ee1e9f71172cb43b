/* The end of a worker.
 *
 * When a program has ended, the interpreter finalises itself: it flushes the streams and destroys
 * the program's modules, which may run code of the program, and then frees all else, object by
 * object.  The last part is long, has no visible effect, and would copy most of the pages that a
 * worker shares with its zygote.  So it is left out: an object of ours is destroyed when that part
 * begins, and its destructor returns at once to the caller of the finalisation, as the finalisation
 * would have in the end.  Exit codes and signals stay with that caller.
 *
 * Where that caller cannot be found, the whole finalisation runs. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
#include <unwind.h>

#include "worker/worker.h"

struct search {
    uintptr_t function; /* whose caller to return to */
    bool passed;
    bool found;
    struct resume_point caller;
};

static struct search search;
static unsigned long long n_libraries;
static void (*enable_collector)(void);
static ssize_t (*collect_garbage)(void);

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *argument)
{
    struct search *s = argument;

    if (s->passed) {
        s->caller.address = _Unwind_GetIP(context);
        s->caller.stack = _Unwind_GetCFA(context);
        for (size_t i = 0; i < N_KEPT; i++)
            s->caller.kept[i] = _Unwind_GetGR(context, kept_registers[i]);
        s->found = true;
        return _URC_END_OF_STACK;
    }
    s->passed = _Unwind_GetRegionStart(context) == s->function;
    return _URC_NO_REASON;
}

void sbr_worker_finish(void *object)
{
    search.passed = search.found = false;
    if (!search.function || !resume_works())
        return;
    _Unwind_Backtrace(look_at_frame, &search);
    if (!search.found)
        return;
    /* Of what is left out, only the garbage collection could still run code of the program. */
    if (object) {
        enable_collector();
        collect_garbage();
    }
    resume_at(&search.caller);
}

void sbr_worker_finish_all(void)
{
    search.function = 0;
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *ret)
{
    (void)size;
    *(unsigned long long *)ret = info->dlpi_adds;
    return 1;
}

bool finish_has_same_libraries(void)
{
    unsigned long long n = 0;

    dl_iterate_phdr(count_libraries, &n);
    return n == n_libraries;
}

/* Runs before the exit handlers of all libraries that the zygote had, and skips them, because they
 * have no visible effect.  If the program loaded more libraries, all handlers run. */
static void leave(int status, void *nothing)
{
    (void)nothing;
    if (!finish_has_same_libraries())
        return;
    fflush(NULL);
    prefault_note();
    _exit(status); /* lint-ok: _exit: what exit() would do in the end */
}

int finish_skip_handlers(void)
{
    dl_iterate_phdr(count_libraries, &n_libraries);
    return on_exit(leave, NULL);
}

int sbr_worker_prepare_finish(void)
{
    *(void **)&enable_collector = dlsym(RTLD_DEFAULT, "PyGC_Enable");
    *(void **)&collect_garbage = dlsym(RTLD_DEFAULT, "PyGC_Collect");
    if (enable_collector && collect_garbage)
        search.function = (uintptr_t)dlsym(RTLD_DEFAULT, "Py_FinalizeEx");
    return finish_skip_handlers();
}

/* Sizes of dictionaries, which stand after the two words that every object begins with. */
static const ssize_t *const *watched;
static ssize_t *sizes;
static int n_watched;

int sbr_worker_watch(const ssize_t *const *dictionaries, int n)
{
    sizes = calloc((size_t)n, sizeof(*sizes));
    if (!sizes)
        return -1;
    watched = dictionaries;
    n_watched = n;
    for (int i = 0; i < n; i++)
        sizes[i] = dictionaries[i][2];
    return 0;
}

int sbr_worker_changed(int from)
{
    for (int i = from; i < n_watched; i++)
        if (watched[i][2] != sizes[i])
            return i;
    return -1;
}
