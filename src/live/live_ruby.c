/* Ruby's print without giving up its lock, while lines are collected.
 *
 * With `sync` Ruby calls write(2) for each print.  A write may have to wait, so Ruby gives up the
 * lock that its threads share and takes it again, which costs more than the rest of the print.  A
 * line that is collected does not wait.  This function stands before Ruby's own and lets Ruby's
 * function for writing try that with the lock.  When there is no room in the block, Ruby's own
 * function does the work.
 *
 * Which functions of Ruby's write is seen by what they call.  Rubies from 3.3 on do not call this
 * function by its name any more: they are as they are without this file. */
#include "live/live_ruby.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "live/live_block.h"

#define MOST_WRITERS 4u /* there is one for write and one for writev */

typedef uintptr_t blocking_function(void *data);

uintptr_t rb_thread_io_blocking_region(blocking_function *function, void *data, int fd);

static __typeof__(&rb_thread_io_blocking_region) theirs;
static blocking_function *writers[MOST_WRITERS];
static __thread blocking_function *now __attribute__((tls_model("initial-exec")));

void live_ruby_find(void)
{
    void *found = dlsym(RTLD_NEXT, "rb_thread_io_blocking_region");

    memcpy(&theirs, &found, sizeof(found));
}

static bool is_writer(blocking_function *function)
{
    for (size_t i = 0; i < MOST_WRITERS; i++)
        if (__atomic_load_n(&writers[i], __ATOMIC_RELAXED) == function)
            return true;
    return false;
}

void live_ruby_wrote(void)
{
    blocking_function *none = NULL;

    if (!now || is_writer(now))
        return;
    for (size_t i = 0; i < MOST_WRITERS; i++, none = NULL)
        if (__atomic_compare_exchange_n(&writers[i], &none, now, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
}

INTERPOSED uintptr_t rb_thread_io_blocking_region(blocking_function *function, void *data, int fd)
{
    uintptr_t r;

    if (fd == STDOUT_FILENO && live_is_bulk() && is_writer(function)) {
        live_only_collect(true);
        r = function(data);
        live_only_collect(false);
        if (!live_is_refused())
            return r;
    }
    now = fd == STDOUT_FILENO ? function : NULL;
    r = theirs(function, data, fd);
    now = NULL;
    return r;
}
