/* Blocks in place of single lines, for interpreters that call write(2) for every line they print.
 *
 * The interpreter is told to write each print (Perl's $|, Ruby's sync), so a line is in the pipe
 * when it is printed.  This library stands before the C library's functions.  It lets the first
 * lines through, and collects those of a program that prints many per second in a block, which a
 * thread writes every some milliseconds.  The block is written before anything that another process
 * could notice or that ends the program: a write elsewhere, a new process, a signal, exec, exit.
 * The thread ends when the program has become slow. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arch.h"
#include "live/live_block.h"

#define MAX_WORDS 4096

/* The C library's functions: found at the start, because a handler must not look for them. */
#define POINTER(name) static __typeof__(&(name)) real_##name
#define FIND(name) real_##name = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name)
#define FUNCTIONS(F)                                                                               \
    F(dup2);                                                                                       \
    F(dup3);                                                                                       \
    F(close);                                                                                      \
    F(execve);                                                                                     \
    F(execv);                                                                                      \
    F(execvp);                                                                                     \
    F(_exit);                                                                                      \
    F(kill);                                                                                       \
    F(killpg);                                                                                     \
    F(raise);                                                                                      \
    F(abort);                                                                                      \
    F(sendfile);                                                                                   \
    F(copy_file_range);                                                                            \
    F(splice);                                                                                     \
    F(syscall);                                                                                    \
    F(posix_spawn);                                                                                \
    F(posix_spawnp);                                                                               \
    F(system);                                                                                     \
    F(popen)

FUNCTIONS(POINTER);

static ssize_t result_of(long r)
{
    if (r >= 0)
        return r;
    errno = (int)-r;
    return -1;
}

/* What could not be collected. */
static ssize_t write_to_stdout(const struct iovec *parts, int n, size_t len)
{
    long r;

    if (live_refuse())
        return result_of(-EAGAIN);
    if (!live_begin_write())
        return result_of(arch_syscall(SYS_writev, STDOUT_FILENO, (long)parts, n));
    r = live_end_write(parts, n, len);
    live_ruby_wrote();
    return result_of(r);
}

INTERPOSED ssize_t write(int fd, const void *data, size_t len)
{
    struct iovec part = { (void *)(uintptr_t)data, len };
    ssize_t r;

    if (fd != STDOUT_FILENO) {
        live_write_now();
        return result_of(arch_syscall(SYS_write, fd, (long)data, (long)len));
    }
    if (live_collect(data, len))
        return (ssize_t)len;
    r = write_to_stdout(&part, 1, len);
    if (len <= LARGE && live_is_bulk())
        live_perl_take();
    return r;
}

/* Saturates: what is large is the kernel's. */
static size_t length_of(const struct iovec *parts, int n)
{
    size_t len = 0;

    for (int i = 0; i < n && len <= LARGE; i++)
        len = parts[i].iov_len <= LARGE ? len + parts[i].iov_len : LARGE + 1;
    return len;
}

INTERPOSED ssize_t writev(int fd, const struct iovec *parts, int n)
{
    size_t len;

    if (fd != STDOUT_FILENO) {
        live_write_now();
        return result_of(arch_syscall(SYS_writev, fd, (long)parts, n));
    }
    len = length_of(parts, n);
    return live_collect_parts(parts, n, len) ? (ssize_t)len : write_to_stdout(parts, n, len);
}

/* From now on another file may be stdout. */
static void forget_stdout(int fd)
{
    if (fd == STDOUT_FILENO)
        live_forget_stdout();
    else
        live_write_now();
}

INTERPOSED int dup2(int fd, int to)
{
    forget_stdout(to);
    return real_dup2(fd, to);
}

INTERPOSED int dup3(int fd, int to, int flags)
{
    forget_stdout(to);
    return real_dup3(fd, to, flags);
}

INTERPOSED int close(int fd)
{
    if (fd == STDOUT_FILENO)
        live_forget_stdout();
    return real_close(fd);
}

#define BEFORE(type, name, parameters, arguments)                                                  \
    INTERPOSED type name parameters                                                                \
    {                                                                                              \
        live_write_now();                                                                          \
        return real_##name arguments;                                                              \
    }

BEFORE(int, execve, (const char *path, char *const words[], char *const env[]), (path, words, env))
BEFORE(int, execv, (const char *path, char *const words[]), (path, words))
BEFORE(int, execvp, (const char *name, char *const words[]), (name, words))
BEFORE(int, kill, (pid_t pid, int number), (pid, number))
BEFORE(int, killpg, (pid_t group, int number), (group, number))
BEFORE(int, raise, (int number), (number))
BEFORE(ssize_t, sendfile, (int to, int fd, off_t *at, size_t len), (to, fd, at, len))
BEFORE(ssize_t, copy_file_range,
       (int fd, off64_t *at, int to, off64_t *to_at, size_t len, unsigned int flags),
       (fd, at, to, to_at, len, flags))
BEFORE(ssize_t, splice,
       (int fd, off64_t *at, int to, off64_t *to_at, size_t len, unsigned int flags),
       (fd, at, to, to_at, len, flags))
BEFORE(int, posix_spawn,
       (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const words[], char *const env[]),
       (ret, path, actions, attributes, words, env))
BEFORE(int, posix_spawnp,
       (pid_t * ret, const char *name, const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const words[], char *const env[]),
       (ret, name, actions, attributes, words, env))
BEFORE(int, system, (const char *command), (command))
BEFORE(FILE *, popen, (const char *command, const char *mode), (command, mode))

#define BEFORE_END(name, parameters, arguments)                                                    \
    INTERPOSED void name parameters                                                                \
    {                                                                                              \
        live_write_now();                                                                          \
        real_##name arguments;                                                                     \
        __builtin_unreachable();                                                                   \
    }

BEFORE_END(_exit, (int status), (status))
BEFORE_END(abort, (void), ())

INTERPOSED long syscall(long number, ...)
{
    long a[6];
    va_list values;

    va_start(values, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(values, long);
    va_end(values);
    live_write_now();
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The words of execl and execle; NULL when there are too many. */
static char **collect_words(char **words, const char *first, va_list values)
{
    size_t n = 0;

    for (const char *word = first;; word = va_arg(values, const char *)) {
        if (n == MAX_WORDS)
            return NULL;
        words[n++] = (char *)(uintptr_t)word;
        if (!word)
            return words;
    }
}

INTERPOSED int execl(const char *path, const char *first, ...)
{
    char *words[MAX_WORDS], **all;
    va_list values;

    va_start(values, first);
    all = collect_words(words, first, values);
    va_end(values);
    errno = E2BIG;
    return all ? execv(path, all) : -1;
}

INTERPOSED int execle(const char *path, const char *first, ...)
{
    char *words[MAX_WORDS], **all, *const *env = NULL;
    va_list values;

    va_start(values, first);
    all = collect_words(words, first, values);
    if (all)
        env = va_arg(values, char *const *);
    va_end(values);
    errno = E2BIG;
    return all ? execve(path, all, env) : -1;
}

static void __attribute__((constructor)) begin(int argc, char **argv, char **env)
{
    (void)argc;
    (void)argv;
    FUNCTIONS(FIND);
    live_ruby_find();
    if (live_begin(env))
        live_perl_find();
}

static void __attribute__((destructor)) end(void)
{
    live_end();
}
