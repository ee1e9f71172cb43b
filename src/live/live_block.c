/* The block in which lines of stdout are collected, and the thread that writes it; see
 * live_write.c. */
#include "live/live_block.h"

#include <poll.h>

#include "live/live_common.h"

#define BLOCK_SIZE (32u << 10)

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
void live_write_now(void)
{
    if (!__atomic_load_n(&pending, __ATOMIC_RELAXED) || !enter())
        return;
    write_rest();
    leave();
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

/* Short lines without a call: there are millions of them. */
static void copy_line(char *to, const char *line, size_t len)
{
    if (len >= 8 && len <= 16) {
        memcpy(to, line, 8);
        memcpy(to + len - 8, line + len - 8, 8);
    } else if (len > 16 && len <= 32) {
        memcpy(to, line, 16);
        memcpy(to + len - 16, line + len - 16, 16);
    } else if (len == 1) {
        *to = *line; /* Ruby's end of a line */
    } else {
        memcpy(to, line, len);
    }
}

static void collect(const struct iovec *parts, int n)
{
    for (int i = 0; i < n; i++) {
        copy_line(block + from + pending, parts[i].iov_base, parts[i].iov_len);
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

bool live_is_bulk(void)
{
    return __atomic_load_n(&is_bulk, __ATOMIC_RELAXED);
}

/* Takes the lock when there is room for `len` bytes. */
static bool begin_collecting(size_t len)
{
    if (!live_is_bulk() || len > LARGE || is_inside)
        return false;
    is_inside = true;
    if (try_lock()) {
        if (is_on && is_bulk && from + pending + len <= BLOCK_SIZE)
            return true;
        drop_lock();
    }
    is_inside = false;
    return false;
}

bool live_collect(const char *line, size_t len)
{
    if (!begin_collecting(len))
        return false;
    copy_line(block + from + pending, line, len);
    __atomic_store_n(&pending, pending + len, __ATOMIC_RELAXED);
    leave();
    return true;
}

static __thread bool is_only_collected __attribute__((tls_model("initial-exec")));
static __thread bool is_refused_now __attribute__((tls_model("initial-exec")));

void live_only_collect(bool only)
{
    is_only_collected = only;
    is_refused_now = is_refused_now && !only;
}

bool live_is_refused(void)
{
    return is_refused_now;
}

bool live_refuse(void)
{
    is_refused_now = is_only_collected;
    return is_only_collected;
}

bool live_collect_parts(const struct iovec *parts, int n, size_t len)
{
    if (!begin_collecting(len))
        return false;
    collect(parts, n);
    leave();
    return true;
}

bool live_begin_write(void)
{
    return is_on && enter();
}

long live_end_write(const struct iovec *parts, int n, size_t len)
{
    long r = write_parts(parts, n, len);

    leave();
    return r;
}

void live_forget_stdout(void)
{
    live_write_now();
    if (enter()) {
        is_on = false;
        leave();
    }
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

bool live_begin(char **env)
{
    hide_preload(env);
    if (!__register_atfork || !is_pipe(STDOUT_FILENO))
        return false;
    __register_atfork(before_fork, after_fork, in_child, NULL);
    last_ms = now_ms();
    is_on = true;
    return true;
}

void live_end(void)
{
    live_write_now();
    is_on = false;
}
