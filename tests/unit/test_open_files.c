#include "init/disk_usage.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define ORDINARY 65534

/* A child that nobody but root may look into, and that is no more than a copy of us. */
static pid_t start_hidden(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    if (pipe(ready) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)!write(ready[1], "!", 1);
        for (;;)
            pause();
    }
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* What is seen of it by somebody who is not root: 0 when it hides, 1 when it does not. */
static int look(bool is_the_program)
{
    struct open_files files = { .proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    pid_t pid;

    if (files.proc_fd < 0 || (geteuid() == 0 && setresuid(ORDINARY, ORDINARY, ORDINARY) < 0))
        return 2;
    pid = start_hidden();
    if (pid < 0)
        return 3;
    files.program = is_the_program ? pid : 0;
    open_files_add(&files, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return files.unseen ? 0 : 1;
}

static int look_from_a_child(bool is_the_program)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(look(is_the_program));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_process_that_hides_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(look_from_a_child(false), 0);
}

static void test_a_program_that_is_not_executed_yet_does_not_hide(void **state)
{
    (void)state;
    assert_int_equal(look_from_a_child(true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_hides_is_noticed),
        cmocka_unit_test(test_a_program_that_is_not_executed_yet_does_not_hide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
