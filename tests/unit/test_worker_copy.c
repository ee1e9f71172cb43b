/* A copy of a process with threads and open files: what worker/threads.c and own_fds.c give it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "wire/zygote.h"
#include "worker/worker.h"

#define N 3
#define END_S 20 /* then the alarm ends a test that hangs */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int n_waiting, n_works, n_done;
static __thread int own_number;

static void *work(void *number)
{
    own_number = *(int *)number;
    pthread_mutex_lock(&lock);
    n_waiting++;
    pthread_cond_signal(&done);
    while (!n_works)
        pthread_cond_wait(&wanted, &lock);
    n_done += own_number; /* its own memory has come along */
    pthread_mutex_unlock(&lock);
    return number;
}

static int end_of(pid_t pid)
{
    int status = -1;

    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Runs in a process of its own, because a process whose threads are stopped cannot go on. */
static void in_a_process(int (*main)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        alarm(END_S);
        _exit(main()); /* lint-ok: _exit: the child of a fork */
    }
    assert_int_equal(end_of(pid), 0);
}

static pthread_t threads[N];
static int numbers[N] = { 1, 2, 4 };

static int start_threads(void)
{
    for (int i = 0; i < N; i++)
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0)
            return -1;
    pthread_mutex_lock(&lock);
    while (n_waiting < N)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* 0 when every thread did its part and ended. */
static int use_threads(void)
{
    void *result;

    pthread_mutex_lock(&lock);
    n_works = 1;
    pthread_cond_broadcast(&wanted);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < N; i++)
        if (pthread_join(threads[i], &result) != 0 || result != &numbers[i])
            return 2;
    return n_done == 7 ? 0 : 3;
}

static int copies_with_threads(void)
{
    if (start_threads() < 0 || threads_stop() < 0)
        return 4;
    for (int i = 0; i < 2; i++) {
        pid_t pid = threads_fork();
        int status = -1;

        if (pid == 0)
            return threads_resume() < 0 ? 5 : use_threads();
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 6;
    }
    return 0;
}

static void every_copy_has_all_threads(void **state)
{
    (void)state;
    in_a_process(copies_with_threads);
}

static void *run_for_ever(void *nothing)
{
    for (volatile uint64_t n = 0;; n++)
        ;
    return nothing;
}

static int stops_a_busy_one(void)
{
    pthread_t busy;

    if (pthread_create(&busy, NULL, run_for_ever, NULL) != 0)
        return 2;
    return threads_stop() < 0 && !threads_are_stopped() ? 0 : 3;
}

static void a_thread_that_works_cannot_be_copied(void **state)
{
    (void)state;
    in_a_process(stops_a_busy_one);
}

/* Open files */

enum { READS = N_ZYGOTE_FDS, WRITES, COUNTER, WATCH, FILE_FD };

static int open_files(void)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = 77 };
    int ends[2];

    if (own_fds_close_others(N_ZYGOTE_FDS) < 0) /* nothing is noted yet: it closes all */
        return -1;
    for (int fd = 0; fd < N_ZYGOTE_FDS; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            return -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 || ends[0] != READS || ends[1] != WRITES ||
        eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC) != COUNTER ||
        epoll_create1(EPOLL_CLOEXEC) != WATCH || write(WRITES, "*", 1) != 1)
        return -1;
    return epoll_ctl(WATCH, EPOLL_CTL_ADD, READS, &event);
}

/* 0 when everything is as it was in the process that was copied. */
static int look_at_files(void)
{
    struct epoll_event event;
    uint64_t count = 0;
    char bytes[4];

    if (epoll_wait(WATCH, &event, 1, 0) != 1 || event.data.u64 != 77)
        return 2;
    if (read(READS, bytes, sizeof(bytes)) != 1 || bytes[0] != '*' || read(READS, bytes, 1) >= 0)
        return 3;
    if (read(COUNTER, &count, sizeof(count)) != sizeof(count) || count != 3)
        return 4;
    return fcntl(READS, F_GETFD) == FD_CLOEXEC && epoll_wait(WATCH, &event, 1, 0) == 0 ? 0 : 5;
}

static int copies_with_files(void)
{
    if (open_files() < 0 || own_fds_note() < 0)
        return 6;
    for (int i = 0; i < 2; i++) { /* the second finds nothing of what the first did */
        pid_t pid = fork();
        int status = -1;

        if (pid == 0)
            return own_fds_renew() < 0 ? 7 : look_at_files();
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 8;
    }
    return look_at_files();
}

static void every_copy_has_files_of_its_own(void **state)
{
    (void)state;
    in_a_process(copies_with_files);
}

/* 0 when the next read begins after the first four bytes; the one after it elsewhere. */
static int read_on(void)
{
    char byte;

    return lseek(FILE_FD, 0, SEEK_CUR) == 4 && read(FILE_FD, &byte, 1) == 1 ? 0 : 2;
}

static int copies_with_a_file(void)
{
    char bytes[4];

    if (open_files() < 0 || open("/proc/self/exe", O_RDONLY | O_CLOEXEC) != FILE_FD ||
        read(FILE_FD, bytes, sizeof(bytes)) != sizeof(bytes) || own_fds_note() < 0)
        return 6;
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        int status = -1;

        if (pid == 0)
            return own_fds_renew() < 0 ? 7 : read_on();
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 8;
    }
    return read_on();
}

static void every_copy_reads_files_on_its_own(void **state)
{
    (void)state;
    in_a_process(copies_with_a_file);
}

static int notes_a_file_to_write(void)
{
    char path[] = "/tmp/test-worker-copy.XXXXXX";

    if (open_files() < 0 || mkostemp(path, O_CLOEXEC) != FILE_FD)
        return 2;
    unlink(path);
    return own_fds_note() < 0 ? 0 : 3;
}

static int notes_a_removed_file(void)
{
    char path[] = "/tmp/test-worker-copy.XXXXXX";

    if (open_files() < 0 || close(mkostemp(path, O_CLOEXEC)) < 0 ||
        open(path, O_RDONLY | O_CLOEXEC) != FILE_FD)
        return 2;
    unlink(path);
    return own_fds_note() < 0 ? 0 : 3;
}

static int notes_a_socket(void)
{
    if (open_files() < 0 || socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) != FILE_FD)
        return 2;
    return own_fds_note() < 0 ? 0 : 3;
}

static void a_file_of_another_kind_is_refused(void **state)
{
    (void)state;
    in_a_process(notes_a_file_to_write);
    in_a_process(notes_a_removed_file);
    in_a_process(notes_a_socket);
}

static int closes_all_but_own(void)
{
    if (open_files() < 0 || own_fds_note() < 0)
        return 2;
    if (dup2(STDERR_FILENO, WATCH + 1) < 0 || dup2(STDERR_FILENO, WATCH + 9) < 0 ||
        own_fds_close_others(STDERR_FILENO + 1) < 0)
        return 3;
    for (int fd = STDERR_FILENO + 1; fd < WATCH + 12; fd++)
        if ((fcntl(fd, F_GETFD) >= 0) != (fd >= READS && fd <= WATCH))
            return 4;
    return 0;
}

static void all_others_are_closed(void **state)
{
    (void)state;
    in_a_process(closes_all_but_own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_copy_has_all_threads),
        cmocka_unit_test(a_thread_that_works_cannot_be_copied),
        cmocka_unit_test(every_copy_has_files_of_its_own),
        cmocka_unit_test(every_copy_reads_files_on_its_own),
        cmocka_unit_test(a_file_of_another_kind_is_refused),
        cmocka_unit_test(all_others_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
