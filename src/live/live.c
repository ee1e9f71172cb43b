/* Line-buffered stdout in a pipe, for programs that print with the C library's stdio.
 *
 * This file is linked into compiled C and C++ programs (languages/c.yaml) and preloaded into
 * interpreters.  When stdout is a pipe, `stdout` becomes a stream of ours that is line-buffered.
 * A program that prints many lines per second gets a fully buffered stream instead, and a thread
 * that writes what has been in the buffer for some milliseconds.  The thread only reads the
 * stream's memory, because programs may print without taking the stream's lock (putc_unlocked):
 * it remembers how many bytes it has written ahead, and the stream's own next write leaves those
 * out.  The thread ends when the program has become slow.
 *
 * A program that chooses a buffering of its own, reopens stdout or prints wide characters gets the
 * C library's stream back. */
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <wchar.h>

#include "live/live_common.h"

#define BUFFER_SIZE 4096u   /* as the C library's own for a pipe */
#define LINE_BUFFERED 0x200 /* _IO_LINE_BUF of libio.h, the same in all versions */
#define NEEDS_LOCK 0x80     /* _IO_FLAGS2_NEED_LOCK, the same since it exists */

static FILE *ours, *original;
static char buffer[BUFFER_SIZE];

static int lock_word; /* 0: free, 1: taken, 2: taken and wanted */
/* The lock protects the rest. */
static size_t ahead;     /* bytes of the buffer that the thread has written */
static uint64_t flushes; /* of the stream: the buffer began anew */
static size_t written;   /* bytes since the thread last looked */

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso) __attribute__((weak));
extern char __libc_single_threaded __attribute__((weak));
#pragma weak dlsym /* older C libraries have it in a library of its own */

static bool try_lock(void)
{
    int seen = 0;

    return __atomic_compare_exchange_n(&lock_word, &seen, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void take_lock(void)
{
    if (try_lock())
        return;
    while (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE) != 0)
        arch_syscall5(SYS_futex, (long)&lock_word, FUTEX_WAIT_PRIVATE, 2, 0, 0);
}

static void drop_lock(void)
{
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2)
        arch_syscall5(SYS_futex, (long)&lock_word, FUTEX_WAKE_PRIVATE, 1, 0, 0);
}

/* 0, or an error of the kernel's. */
static long write_all(const char *data, size_t len)
{
    while (len) {
        long n = arch_syscall(SYS_write, STDOUT_FILENO, (long)data, (long)len);

        if (n == -EINTR)
            continue;
        if (n < 0)
            return n;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* How much the program has put into the buffer by now.  It may be changing the stream. */
static size_t buffered(void)
{
    const char *base = *(char *volatile *)&ours->_IO_write_base;
    const char *at = *(char *volatile *)&ours->_IO_write_ptr;

    return base == buffer && at >= base && at <= base + BUFFER_SIZE ? (size_t)(at - base) : 0;
}

/* Writes bytes that were counted a period ago: by now they are in memory for certain. */
static void write_ahead(size_t counted)
{
    if (counted > ahead && counted <= buffered() &&
        write_all(buffer + ahead, counted - ahead) == 0) {
        written += counted - ahead;
        ahead = counted;
    }
}

static void set_line_buffered(void)
{
    ours->_flags |= LINE_BUFFERED;
    ours->_IO_write_end = ours->_IO_write_base; /* so that putc_unlocked calls the library */
}

/* What the thread saw a period ago. */
static struct {
    size_t counted;
    uint64_t flushes;
    int quiet; /* periods with few bytes */
    int lines; /* periods since the stream is line-buffered again */
} look;

/* Goes on until all that was printed before the stream became line-buffered is written. */
static bool look_after(void)
{
    if (!ours)
        return false;
    if (flushes == look.flushes)
        write_ahead(look.counted);
    look.counted = buffered();
    look.flushes = flushes;
    look.quiet = written < FEW ? look.quiet + 1 : 0;
    written = 0;
    look.lines = ours->_flags & LINE_BUFFERED ? look.lines + 1 : 0;
    if (look.lines || look.quiet >= QUIET)
        set_line_buffered();
    return look.lines < 3;
}

/* Whole lines, as at a terminal: a part of one stays in the buffer. */
static void write_rest(void)
{
    const char *end = ours ? memrchr(buffer, '\n', buffered()) : NULL;

    if (end)
        write_ahead((size_t)(end - buffer) + 1);
}

/* The stream looks at its flags after this write, so the change holds from the next line on. */
static void become_bulk(void)
{
    if (!is_thread)
        memset(&look, 0, sizeof(look));
    if (begin_bulk())
        ours->_flags &= ~LINE_BUFFERED;
}

static ssize_t stream_write(void *cookie, const char *data, size_t len)
{
    size_t known;
    long r;

    (void)cookie;
    if (stdout == original) /* given back: one buffer for both */
        return (ssize_t)fwrite(data, 1, len, original);
    take_lock();
    known = ahead < len ? ahead : len;
    ahead -= known;
    flushes++;
    written += len - known;
    r = write_all(data + known, len - known);
    if (ours->_flags & LINE_BUFFERED && !has_room())
        become_bulk();
    drop_lock();
    if (r < 0)
        errno = (int)-r;
    return r < 0 ? 0 : (ssize_t)len;
}

static int stream_seek(void *cookie, off64_t *offset, int whence)
{
    off64_t at = lseek64(STDOUT_FILENO, *offset, whence);

    (void)cookie;
    if (at >= 0)
        *offset = at;
    return at < 0 ? -1 : 0;
}

/* By fcloseall. */
static int stream_close(void *cookie)
{
    (void)cookie;
    take_lock();
    ours = NULL;
    drop_lock();
    return 0;
}

/* Lines that wait are not for the child to print again.  Another thread may be about to print. */
static void before_fork(void)
{
    take_lock();
    if (&__libc_single_threaded && __libc_single_threaded)
        write_rest();
}

/* In the child there is one thread. */
static void in_child(void)
{
    is_thread = false;
    if (ours)
        set_line_buffered();
    drop_lock();
}

/* Functions that a program may also define itself: they are weak. */
#define INTERPOSED __attribute__((weak, visibility("default")))
#define REAL(name)                                                                                 \
    static __typeof__(&(name)) real;                                                               \
                                                                                                   \
    if (!real)                                                                                     \
    real = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name)

static int set_buffer(FILE *stream, char *at, int mode, size_t size)
{
    REAL(setvbuf);
    return real(stream, at, mode, size);
}

static void begin(void)
{
    static const cookie_io_functions_t functions = { .write = stream_write,
                                                     .seek = stream_seek,
                                                     .close = stream_close };

    if (!dlsym || !__register_atfork || !is_pipe(STDOUT_FILENO))
        return;
    ours = fopencookie(NULL, "w", functions);
    if (!ours)
        return;
    __register_atfork(before_fork, drop_lock, in_child, NULL);
    ours->_fileno = STDOUT_FILENO;
    /* As for other streams: only when the program has threads. */
    ours->_flags2 = (ours->_flags2 & ~NEEDS_LOCK) | (stdout->_flags2 & NEEDS_LOCK);
    set_buffer(ours, buffer, _IOLBF, sizeof(buffer));
    original = stdout;
    stdout = ours;
    last_ms = now_ms();
    if (is_pipe(STDIN_FILENO)) /* then a read writes a prompt first, as it does at a terminal */
        set_buffer(stdin, NULL, _IOLBF, 0);
}

#ifdef LIVE_PRELOADED
static void __attribute__((constructor)) begin_preloaded(int argc, char **argv, char **env)
{
    (void)argc;
    (void)argv;
    hide_preload(env);
    begin();
}
#else
/* Before the constructors of C++, which remember `stdout`. */
static void (*const begin_early)(void) __attribute__((used, section(".preinit_array"))) = begin;
#endif

/* The C library's own stream, when `stream` is ours: from now on it is stdout. */
static FILE *give_back(FILE *stream)
{
    if (!ours || stream != ours)
        return stream;
    fflush(ours);
    if (stdout == ours) {
        stdout = original;
        set_buffer(ours, NULL, _IONBF, 0);
    }
    return original;
}

INTERPOSED FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    REAL(freopen);
    return real(path, mode, give_back(stream));
}

INTERPOSED FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
    REAL(freopen64);
    return real(path, mode, give_back(stream));
}

/* A program may go on to use stdout and gets an error then: ours must not be freed. */
INTERPOSED int fclose(FILE *stream)
{
    REAL(fclose);
    return real(give_back(stream));
}

INTERPOSED int setvbuf(FILE *stream, char *at, int mode, size_t size)
{
    return set_buffer(give_back(stream), at, mode, size);
}

INTERPOSED void setbuf(FILE *stream, char *at)
{
    set_buffer(give_back(stream), at, at ? _IOFBF : _IONBF, BUFSIZ);
}

INTERPOSED void setbuffer(FILE *stream, char *at, size_t size)
{
    set_buffer(give_back(stream), at, at ? _IOFBF : _IONBF, size);
}

INTERPOSED void setlinebuf(FILE *stream)
{
    set_buffer(give_back(stream), NULL, _IOLBF, 0);
}

INTERPOSED void __fpurge(FILE *stream)
{
    REAL(__fpurge);
    take_lock();
    if (stream == ours)
        ahead = 0;
    drop_lock();
    real(stream);
}

/* Before what ends the program, makes it another one or starts one.  A thread that prints at this
 * moment has the lock and writes by itself. */
static void write_now(void)
{
    if (ours && stdout == ours && try_lock()) {
        write_rest();
        drop_lock();
    }
}

static int result_of(long r)
{
    if (r < 0)
        errno = (int)-r;
    return r < 0 ? -1 : (int)r;
}

#define BEFORE_CALL(name, parameters, call)                                                        \
    INTERPOSED int name parameters                                                                 \
    {                                                                                              \
        write_now();                                                                               \
        return result_of(call);                                                                    \
    }

BEFORE_CALL(kill, (pid_t pid, int number), arch_syscall(SYS_kill, pid, number, 0))
BEFORE_CALL(raise, (int number), signal_self(number))
BEFORE_CALL(execve, (const char *path, char *const words[], char *const env[]),
            arch_syscall(SYS_execve, (long)path, (long)words, (long)env))
BEFORE_CALL(execv, (const char *path, char *const words[]),
            arch_syscall(SYS_execve, (long)path, (long)words, (long)environ))

#define BEFORE_REAL(type, name, parameters, arguments)                                             \
    INTERPOSED type name parameters                                                                \
    {                                                                                              \
        REAL(name);                                                                                \
        write_now();                                                                               \
        return real arguments;                                                                     \
    }

BEFORE_REAL(int, system, (const char *command), (command))
BEFORE_REAL(FILE *, popen, (const char *command, const char *mode), (command, mode))

#define BEFORE_END(name)                                                                           \
    INTERPOSED void name(int status)                                                               \
    {                                                                                              \
        write_now();                                                                               \
        for (;;)                                                                                   \
            arch_syscall(SYS_exit_group, status, 0, 0);                                            \
    }

BEFORE_END(_exit)
BEFORE_END(_Exit)

/* A stream of our kind has no wide characters. */
static FILE *wide(FILE *stream)
{
    if (ours && stream == ours) {
        stream = give_back(stream);
        set_buffer(stream, NULL, _IOLBF, 0);
    }
    return stream;
}

INTERPOSED int fwide(FILE *stream, int mode)
{
    REAL(fwide);
    return real(mode > 0 ? wide(stream) : stream, mode);
}

INTERPOSED wint_t fputwc(wchar_t c, FILE *stream)
{
    REAL(fputwc);
    return real(c, wide(stream));
}

INTERPOSED wint_t putwc(wchar_t c, FILE *stream)
{
    REAL(fputwc);
    return real(c, wide(stream));
}

INTERPOSED wint_t putwchar(wchar_t c)
{
    REAL(fputwc);
    return real(c, wide(stdout));
}

INTERPOSED int fputws(const wchar_t *text, FILE *stream)
{
    REAL(fputws);
    return real(text, wide(stream));
}

INTERPOSED int vfwprintf(FILE *stream, const wchar_t *format, va_list values)
{
    REAL(vfwprintf);
    return real(wide(stream), format, values);
}

INTERPOSED int vwprintf(const wchar_t *format, va_list values)
{
    return vfwprintf(stdout, format, values);
}

#define PASS_ON(stream, format)                                                                    \
    va_list values;                                                                                \
    int n;                                                                                         \
                                                                                                   \
    va_start(values, format);                                                                      \
    n = vfwprintf(stream, format, values);                                                         \
    va_end(values);                                                                                \
    return n

/* In parentheses: with _FORTIFY_SOURCE these are macros for some compilers. */
INTERPOSED int(fwprintf)(FILE *stream, const wchar_t *format, ...)
{
    PASS_ON(stream, format);
}

INTERPOSED int(wprintf)(const wchar_t *format, ...)
{
    PASS_ON(stdout, format);
}

/* What the two are called in a program that is compiled with _FORTIFY_SOURCE. */
/* NOLINTBEGIN(readability-redundant-declaration): without it no header has them */
int __fwprintf_chk(FILE *stream, int flag, const wchar_t *format, ...);
int __wprintf_chk(int flag, const wchar_t *format, ...);
/* NOLINTEND(readability-redundant-declaration) */

INTERPOSED int __fwprintf_chk(FILE *stream, int flag, const wchar_t *format, ...)
{
    (void)flag;
    PASS_ON(stream, format);
}

INTERPOSED int __wprintf_chk(int flag, const wchar_t *format, ...)
{
    (void)flag;
    PASS_ON(stdout, format);
}
