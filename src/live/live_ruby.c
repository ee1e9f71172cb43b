/* Ruby's print without giving up its lock, and numbers as one text, while lines are collected.
 *
 * With `sync` Ruby calls write(2) for each print.  A write may have to wait, so Ruby gives up the
 * lock that its threads share and takes it again, which costs more than the rest of the print.  A
 * line that is collected does not wait.  This function stands before Ruby's own and lets Ruby's
 * function for writing try that with the lock.  When there is no room in the block, Ruby's own
 * function does the work.
 *
 * `puts` of a number writes two texts, the number and the end of the line, which with `sync` costs
 * more than with Ruby's buffer.  A function before rb_io_puts writes one that has both, wherever a
 * program has left the methods alone that `puts` would call.
 *
 * Which functions of Ruby's write is seen by what they call.  Rubies from 3.3 on do not call this
 * function by its name any more: they are as they are without this file. */

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

typedef uintptr_t value; /* an object; with the lowest bit a small number */

value rb_io_puts(int argc, const value *argv, value out);

/* What Ruby gives to its modules. */
static struct {
    value (*puts)(int argc, const value *argv, value out);
    value (*put)(value out, value text);
    value (*check_array)(value object);
    value (*to_text)(value object);
    value (*new_text)(const char *text, long len);
    value (*intern)(const char *name);
    int (*is_basic)(value class, value method);
    const value *io, *integer; /* classes */
} ruby;

static value nil; /* what puts returned; 0: it was not called yet */

static bool find_all(void)
{
    const struct {
        void *place;
        const char *name;
    } all[] = {
        { &ruby.put, "rb_io_write" },
        { &ruby.check_array, "rb_check_array_type" },
        { &ruby.to_text, "rb_obj_as_string" },
        { &ruby.new_text, "rb_usascii_str_new" },
        { &ruby.intern, "rb_intern" },
        { &ruby.is_basic, "rb_method_basic_definition_p" },
        { &ruby.io, "rb_cIO" },
        { &ruby.integer, "rb_cInteger" },
    };
    bool complete = true;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        void *found = dlsym(RTLD_DEFAULT, all[i].name);

        memcpy(all[i].place, &found, sizeof(found));
        complete = complete && found;
    }
    return complete;
}

static bool has_all;

void live_ruby_find(void)
{
    void *found = dlsym(RTLD_NEXT, "rb_io_puts");

    memcpy(&ruby.puts, &found, sizeof(found));
    if (!found)
        return; /* no Ruby */
    found = dlsym(RTLD_NEXT, "rb_thread_io_blocking_region");
    memcpy(&theirs, &found, sizeof(found));
    has_all = found && find_all();
}

/* True: `puts` would call only methods that are Ruby's own.  The class of an object is its second
 * word; an object with methods of its own has another one. */
static bool is_plain(value out)
{
    static value to_write, to_s;

    if (!to_write) {
        to_write = ruby.intern("write");
        to_s = ruby.intern("to_s");
    }
    return ((const value *)out)[1] == *ruby.io && ruby.is_basic(*ruby.io, to_write) &&
           ruby.is_basic(*ruby.integer, to_s);
}

static value puts_one(value object, value out)
{
    return ruby.puts(1, &object, out);
}

static value puts_number(value number, value out)
{
    char line[24], *at = line + sizeof(line);
    intptr_t n = (intptr_t)number >> 1;
    uintptr_t rest = n < 0 ? -(uintptr_t)n : (uintptr_t)n;
    value list = ruby.check_array(number); /* a program may have given numbers such a method */

    if (list != nil)
        return puts_one(list, out);
    if (!is_plain(out))
        return puts_one(ruby.to_text(number), out);
    *--at = '\n';
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (n < 0)
        *--at = '-';
    ruby.put(out, ruby.new_text(at, line + sizeof(line) - at));
    return nil;
}

INTERPOSED value rb_io_puts(int argc, const value *argv, value out)
{
    if (!has_all || !nil || argc == 0 || !live_is_bulk()) {
        nil = ruby.puts(argc, argv, out);
        return nil;
    }
    for (int i = 0; i < argc; i++)
        (void)(argv[i] & 1 ? puts_number(argv[i], out) : puts_one(argv[i], out));
    return nil;
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
