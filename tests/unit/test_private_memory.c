/* Memory that a process shares with its copies, before and after private_memory_take(). */
#include "worker/worker.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define SIZE 8192u

static char *map(int access, int flags, int fd)
{
    char *memory = mmap(NULL, SIZE, access, flags, fd, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

/* A copy of this process makes the memory writable and writes to it, as a program in a worker
 * would. */
static void scribble(char *memory)
{
    pid_t pid = fork();
    int status = -1;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (mprotect(memory, SIZE, PROT_READ | PROT_WRITE) == 0)
            memset(memory, 'x', SIZE);
        _exit(0); /* lint-ok: _exit: the child of a fork */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Anonymous memory, and a memory file that may be made writable though it is not. */
static char *shared[2];

static void make_shared(void)
{
    int fd = memfd_create("shared", MFD_CLOEXEC);

    assert_int_equal(ftruncate(fd, SIZE), 0);
    assert_int_equal(pwrite(fd, "ours", 4, 0), 4);
    shared[0] = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    memcpy(shared[0], "ours", 4);
    shared[1] = map(PROT_READ, MAP_SHARED, fd);
    close(fd);
}

static void a_copy_writes_to_what_is_shared(void **state)
{
    (void)state;
    make_shared();
    for (size_t i = 0; i < 2; i++) {
        scribble(shared[i]);
        assert_memory_equal(shared[i], "xxxx", 4);
    }
}

static void afterwards_nobody_sees_what_a_copy_writes(void **state)
{
    (void)state;
    make_shared();
    assert_int_equal(private_memory_take(), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(shared[i], "ours", 4); /* what was there stays, where it was */
        scribble(shared[i]);
        assert_memory_equal(shared[i], "ours", 4);
    }
    shared[0][SIZE - 1] = 'y'; /* as writable as before */
}

static void what_cannot_be_copied_is_an_error(void **state)
{
    char *memory = map(PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1);

    (void)state;
    assert_int_equal(private_memory_take(), -1);
    assert_int_equal(munmap(memory, SIZE), 0);
    assert_int_equal(private_memory_take(), 0);
}

static void random_bytes_are_others_afterwards(void **state)
{
    const char *bytes = (const char *)getauxval(AT_RANDOM); /* NOLINT: an address, as a number */
    char before[16];

    (void)state;
    assert_non_null(bytes);
    memcpy(before, bytes, sizeof(before));
    assert_int_equal(private_memory_random(), 0);
    assert_memory_not_equal(before, bytes, sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_writes_to_what_is_shared),
        cmocka_unit_test(afterwards_nobody_sees_what_a_copy_writes),
        cmocka_unit_test(what_cannot_be_copied_is_an_error),
        cmocka_unit_test(random_bytes_are_others_afterwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
