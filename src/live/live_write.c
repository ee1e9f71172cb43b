/* Blocks in place of single lines, for interpreters that call write(2) for every line they print.
 *
 * The interpreter is told to write each print (Perl's $|, Ruby's sync), so a line is in the pipe
 * when it is printed.  This library stands before the C library's functions.  It lets the first
 * lines through, and collects those of a program that prints many per second in a block, which a
 * thread writes every some milliseconds.  The block is written before anything that another process
 * could notice or that ends the program: a write elsewhere, a new process, a signal, exec, exit.
 * The thread ends when the program has become slow. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "live/live_common.h"

#define BLOCK_SIZE (32u << 10)
#define LARGE 4096u /* a write of its own */
#define MAX_WORDS 4096

/* The lock protects these. */
static char block[BLOCK_SIZE];
static size_t from, pending; /* the bytes that wait */
static size_t passed;        /* bytes since the thread last looked */
static bool is_on;           /* stdout is the pipe that it was at the start */
static bool is_bulk;

/* A handler of a signal must not wait for the thread that it interrupts. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso) __attribute__((weak));

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

static bool is_locked;

static bool try_lock(void)
{
    return !__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE);
}

/* Every line takes the lock, so giving it back is a plain store: who waits looks again and again,
 * which happens when two threads print at once, or the pipe is full. */
static void take_lock(void)
{
    const struct timespec pause = { .tv_nsec = 200000 };

    while (!try_lock())
        arch_syscall(SYS_nanosleep, (long)&pause, 0, 0);
}

static void drop_lock(void)
{
    __atomic_clear(&is_locked, __ATOMIC_RELEASE);
}

static bool enter(void)
{
    if (is_inside)
        return false;
    is_inside = true;
    take_lock();
    return true;
}

static void leave(void)
{
    drop_lock();
    is_inside = false;
}

static void took(long n)
{
    from = pending > (size_t)n ? from + (size_t)n : 0;
    pending -= (size_t)n;
    passed += (size_t)n;
}

/* Writes the whole block.  Without a reader the rest is given up, as the kernel would. */
static void write_rest(void)
{
    struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };
    long n = 0;

    while (pending && (n >= 0 || n == -EINTR || n == -EAGAIN)) {
        if (n == -EAGAIN)
            arch_syscall5(SYS_ppoll, (long)&ready, 1, 0, 0, 0);
        n = arch_syscall(SYS_write, STDOUT_FILENO, (long)(block + from), (long)pending);
        if (n > 0)
            took(n);
    }
    if (n < 0)
        from = pending = 0;
}

/* As much as there is room for in the pipe: the thread does not wait while it has the lock. */
static void write_some(void)
{
    struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };
    const struct timespec now = { 0 };

    while (pending && arch_syscall5(SYS_ppoll, (long)&ready, 1, (long)&now, 0, 0) == 1) {
        size_t part = pending < LARGE ? pending : LARGE;
        long n = arch_syscall(SYS_write, STDOUT_FILENO, (long)(block + from), (long)part);

        if (n <= 0) { /* the program's own next write gets the error */
            is_bulk = false;
            return;
        }
        took(n);
    }
}

static bool look_after(void)
{
    static int quiet; /* periods with few bytes */

    write_some();
    quiet = passed < FEW ? quiet + 1 : 0;
    passed = 0;
    if (quiet >= QUIET)
        is_bulk = false;
    if (is_on && (is_bulk || pending))
        return true;
    quiet = 0;
    return false;
}

/* Before what others could notice. */
static void write_now(void)
{
    if (!__atomic_load_n(&pending, __ATOMIC_RELAXED) || !enter())
        return;
    write_rest();
    leave();
}

static ssize_t result_of(long r)
{
    if (r >= 0)
        return r;
    errno = (int)-r;
    return -1;
}

/* Makes room in the block for `len` bytes; an interruption or a missing reader is the caller's. */
static long make_room(size_t len)
{
    while (pending && (len > LARGE || from + pending + len > BLOCK_SIZE)) {
        long n = arch_syscall(SYS_write, STDOUT_FILENO, (long)(block + from), (long)pending);

        if (n < 0)
            return n;
        took(n);
    }
    return 0;
}

static void collect(const struct iovec *parts, int n)
{
    for (int i = 0; i < n; i++) {
        memcpy(block + from + pending, parts[i].iov_base, parts[i].iov_len);
        __atomic_store_n(&pending, pending + parts[i].iov_len, __ATOMIC_RELAXED);
    }
}

static long write_parts(const struct iovec *parts, int n, size_t len)
{
    long r = 0;

    if (!is_bulk && !has_room())
        is_bulk = begin_bulk();
    if (pending)
        r = make_room(is_bulk ? len : BLOCK_SIZE + 1);
    if (r < 0)
        return r;
    if (is_bulk && len <= LARGE) {
        collect(parts, n);
        return (long)len;
    }
    passed += len;
    return arch_syscall(SYS_writev, STDOUT_FILENO, (long)parts, n);
}

#define INTERPOSED __attribute__((visibility("default")))

INTERPOSED ssize_t write(int fd, const void *data, size_t len)
{
    struct iovec part = { (void *)(uintptr_t)data, len };
    long r;

    if (fd != STDOUT_FILENO)
        write_now();
    if (fd != STDOUT_FILENO || !is_on || !enter())
        return result_of(arch_syscall(SYS_write, fd, (long)data, (long)len));
    r = write_parts(&part, 1, len);
    leave();
    return result_of(r);
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
    long r;

    if (fd != STDOUT_FILENO)
        write_now();
    if (fd != STDOUT_FILENO || !is_on || !enter())
        return result_of(arch_syscall(SYS_writev, fd, (long)parts, n));
    r = write_parts(parts, n, length_of(parts, n));
    leave();
    return result_of(r);
}

/* From now on another file may be stdout. */
static void forget_stdout(int fd)
{
    write_now();
    if (fd == STDOUT_FILENO && enter()) {
        is_on = false;
        leave();
    }
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
        forget_stdout(fd);
    return real_close(fd);
}

#define BEFORE(type, name, parameters, arguments)                                                  \
    INTERPOSED type name parameters                                                                \
    {                                                                                              \
        write_now();                                                                               \
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
        write_now();                                                                               \
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
    write_now();
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

static bool has_fork_lock;

static void before_fork(void)
{
    has_fork_lock = enter();
    if (has_fork_lock)
        write_rest();
}

static void after_fork(void)
{
    if (has_fork_lock)
        leave();
}

/* In the child there is one thread. */
static void in_child(void)
{
    is_thread = is_bulk = false;
    after_fork();
}

static void __attribute__((constructor)) begin(int argc, char **argv, char **env)
{
    (void)argc;
    (void)argv;
    hide_preload(env);
    FUNCTIONS(FIND);
    if (!__register_atfork || !is_pipe(STDOUT_FILENO))
        return;
    __register_atfork(before_fork, after_fork, in_child, NULL);
    last_ms = now_ms();
    is_on = true;
}

static void __attribute__((destructor)) end(void)
{
    write_now();
    is_on = false;
}
