#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scope.h"
#include "unit.h"

static char dir_path[] = "/tmp/sbr-unit-fd-XXXXXX";
static int dir_fd = -1;

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir_path))
        return -1;
    dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlinkat(dir_fd, "file", 0);
    close(dir_fd);
    return rmdir(dir_path);
}

static void write_file(const char *text)
{
    scoped_fd int fd = openat(dir_fd, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void a_small_file_is_read_whole(void **state)
{
    char text[16];

    (void)state;
    write_file("12345\n");
    assert_int_equal(fd_read_small(dir_fd, "file", text, sizeof(text)), 6);
    assert_string_equal(text, "12345\n");
    write_file("");
    assert_int_equal(fd_read_small(dir_fd, "file", text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

static void a_file_that_does_not_fit_with_its_nul_is_refused(void **state)
{
    char text[5];

    (void)state;
    write_file("1234");
    assert_int_equal(fd_read_small(dir_fd, "file", text, sizeof(text)), 4);
    write_file("12345");
    assert_int_equal(fd_read_small(dir_fd, "file", text, sizeof(text)), -1);
    assert_int_equal(errno, EFBIG);
}

static void a_missing_file_is_said_to_be_missing(void **state)
{
    char text[5];

    (void)state;
    assert_int_equal(fd_read_small(dir_fd, "nothing", text, sizeof(text)), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(fd_write_small(dir_fd, "nothing", "x"), -1);
    assert_int_equal(errno, ENOENT);
}

static void a_short_text_is_written_to_a_file_that_exists(void **state)
{
    char text[16];

    (void)state;
    write_file("");
    assert_int_equal(fd_write_small(dir_fd, "file", "max 100000"), 0);
    fd_read_small(dir_fd, "file", text, sizeof(text));
    assert_string_equal(text, "max 100000");
}

static void a_text_is_read_up_to_its_maximum_and_no_further(void **state)
{
    scoped_free char *text = NULL;
    sbr_error err;
    size_t len;
    int fd = openat(dir_fd, "file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(ftruncate(fd, 40000), 0);
    assert_int_equal(fd_read_text(fd, 40000, &text, &len, &err), 0);
    assert_int_equal(len, 40000);
    assert_int_equal(text[len], '\0');
    lseek(fd, 0, SEEK_SET);
    assert_refused(fd_read_text(fd, 39999, &text, &len, &err), &err, SBR_E_INVALID, "39999");
    close(fd);
    assert_refused(fd_read_text(fd, 10, &text, &len, &err), &err, SBR_E_SYSTEM, "cannot read");
    assert_int_equal(err.sys_errno, EBADF);
}

static void nothing_to_read_is_an_empty_text(void **state)
{
    scoped_free char *text = NULL;
    scoped_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sbr_error err;
    size_t len = 1;

    (void)state;
    assert_int_equal(fd_read_text(fd, 10, &text, &len, &err), 0);
    assert_string_equal(text, "");
    assert_int_equal(len, 0);
}

static void a_full_read_collects_what_comes_in_pieces(void **state)
{
    char text[8] = "";
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fd_write_all(ends[1], "abc", 3), 0);
    assert_int_equal(fd_write_all(ends[1], "def", 3), 0);
    assert_int_equal(fd_read_full(ends[0], text, 4), 4);
    assert_memory_equal(text, "abcd", 4);
    close(ends[1]);
    assert_int_equal(fd_read_full(ends[0], text, sizeof(text)), 2);
    assert_int_equal(fd_read_full(ends[0], text, sizeof(text)), 0);
    close(ends[0]);
    assert_int_equal(fd_read_full(ends[0], text, sizeof(text)), -1);
    assert_int_equal(fd_write_all(ends[1], "x", 1), -1);
}

static void sealed_memory_cannot_be_changed_by_anyone(void **state)
{
    scoped_fd int fd = fd_sealed_memory("test", "content", 7, 0);
    char text[16];

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GET_SEALS),
                     F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(ftruncate(fd, 100), -1);
    assert_int_equal(pread(fd, text, sizeof(text), 0), 7);
    assert_memory_equal(text, "content", 7);
}

static void descriptors_travel_with_a_message_and_close_on_exec(void **state)
{
    int ends[2], got[FD_MAX_PASSED], sent[FD_MAX_PASSED + 1];
    char text[8] = "";
    size_t n = 9;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sent); i++)
        sent[i] = dir_fd;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(fd_send(ends[0], "hello", 5, sent, FD_MAX_PASSED), 0);
    assert_int_equal(fd_receive(ends[1], text, sizeof(text), got, &n), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(n, FD_MAX_PASSED);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
        close(got[i]);
    }
    assert_int_equal(fd_send(ends[0], "x", 1, NULL, 0), 0);
    assert_int_equal(fd_receive(ends[1], text, sizeof(text), got, &n), 1);
    assert_int_equal(n, 0);
    assert_int_equal(fd_send(ends[0], "x", 1, sent, FD_MAX_PASSED + 1), -1);
    assert_int_equal(errno, EINVAL);
    close(ends[0]);
    assert_int_equal(fd_receive(ends[1], text, sizeof(text), got, &n), 0);
    assert_int_equal(fd_send(ends[1], "x", 1, NULL, 0), -1); /* and no SIGPIPE */
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
}

static void a_scope_closes_what_was_not_taken(void **state)
{
    int kept, closed;

    (void)state;
    {
        scoped_fd int fd = dup(dir_fd);
        scoped_fd int other = dup(dir_fd);

        closed = other;
        kept = take_fd(fd);
        assert_int_equal(fd, -1);
    }
    assert_int_equal(fcntl(kept, F_GETFD), 0);
    assert_int_equal(fcntl(closed, F_GETFD), -1);
    close(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_is_read_whole),
        cmocka_unit_test(a_file_that_does_not_fit_with_its_nul_is_refused),
        cmocka_unit_test(a_missing_file_is_said_to_be_missing),
        cmocka_unit_test(a_short_text_is_written_to_a_file_that_exists),
        cmocka_unit_test(a_text_is_read_up_to_its_maximum_and_no_further),
        cmocka_unit_test(nothing_to_read_is_an_empty_text),
        cmocka_unit_test(a_full_read_collects_what_comes_in_pieces),
        cmocka_unit_test(sealed_memory_cannot_be_changed_by_anyone),
        cmocka_unit_test(descriptors_travel_with_a_message_and_close_on_exec),
        cmocka_unit_test(a_scope_closes_what_was_not_taken),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
