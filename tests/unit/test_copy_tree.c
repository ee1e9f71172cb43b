#include "changes/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "copy_fixture.h"
#include "unit.h"

static const struct timespec long_ago[2] = { { 1000000000, 1 }, { 1234567890, 987654321 } };

static void assert_long_ago(int at, const char *path)
{
    struct stat st = look_at(at, path);

    assert_int_equal(st.st_mtim.tv_sec, long_ago[1].tv_sec);
    assert_int_equal(st.st_mtim.tv_nsec, long_ago[1].tv_nsec);
}

static void a_tree_is_copied_with_its_modes_and_times(void **state)
{
    static const char *const paths[] = { "dir/tool", "dir/link", "dir/locked", "dir" };
    int from = cp.fds[SOURCE], to = cp.fds[COPY];

    (void)state;
    dir_at(from, "dir", 0755);
    file_at(from, "dir/tool", "content", 0751);
    link_at(from, "dir/link", "../nowhere");
    dir_at(from, "dir/locked", 0700);
    file_at(from, "dir/locked/file", "", 0400);
    assert_int_equal(fchmodat(from, "dir/locked", 0555, 0), 0);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_int_equal(utimensat(from, paths[i], long_ago, AT_SYMLINK_NOFOLLOW), 0);
    copy_it();
    assert_same_trees(from, to);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_long_ago(to, paths[i]);
    assert_int_equal(cp.copied.files, 3);
    assert_int_equal(cp.copied.bytes, 7);
    assert_int_equal(cp.copied.left_out, 0);
}

static void the_top_gets_mode_and_time_as_well(void **state)
{
    (void)state;
    assert_int_equal(fchmod(cp.fds[SOURCE], 0751), 0);
    assert_int_equal(futimens(cp.fds[SOURCE], long_ago), 0);
    copy_it();
    assert_long_ago(cp.fds[COPY], ".");
    assert_int_equal(look_at(cp.fds[COPY], ".").st_mode & 07777, 0751);
}

static void hard_links_become_files_of_their_own(void **state)
{
    (void)state;
    file_at(cp.fds[SOURCE], "a", "shared", 0644);
    assert_int_equal(linkat(cp.fds[SOURCE], "a", cp.fds[SOURCE], "b", 0), 0);
    copy_it();
    assert_same_trees(cp.fds[SOURCE], cp.fds[COPY]);
    assert_int_equal(look_at(cp.fds[COPY], "a").st_nlink, 1);
}

static void holes_stay_holes(void **state)
{
    int from = cp.fds[SOURCE];
    scoped_fd int fd = openat(from, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    struct stat st;

    (void)state;
    assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
    assert_int_equal(pwrite(fd, "middle", 6, 8 << 20), 6);
    assert_int_equal(ftruncate(fd, 32 << 20), 0);
    copy_it();
    st = look_at(cp.fds[COPY], "sparse");
    assert_int_equal(st.st_size, 32 << 20);
    assert_true(st.st_blocks * 512 < 1 << 20);
    assert_same_trees(from, cp.fds[COPY]);
}

static void nothing_but_a_hole_is_a_file_too(void **state)
{
    scoped_fd int fd = openat(cp.fds[SOURCE], "hole", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    struct stat st;

    (void)state;
    assert_int_equal(ftruncate(fd, 1LL << 40), 0);
    copy_it();
    st = look_at(cp.fds[COPY], "hole");
    assert_int_equal(st.st_size, 1LL << 40);
    assert_int_equal(st.st_blocks, 0);
}

static void what_is_no_file_is_left_out(void **state)
{
    int from = cp.fds[SOURCE];

    (void)state;
    assert_int_equal(mkfifoat(from, "pipe", 0644), 0);
    assert_int_equal(mknodat(from, "socket", S_IFSOCK | 0644, 0), 0);
    file_at(from, "file", "x", 0644);
    copy_it();
    assert_int_equal(cp.copied.left_out, 2);
    assert_int_equal(faccessat(cp.fds[COPY], "pipe", F_OK, 0), -1);
    find_changes();
    assert_noted("");
}

static void nest(int from, int depth)
{
    int at = dup(from);

    for (int i = 0; i < depth; i++) {
        int next;

        dir_at(at, "d", 0755);
        next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    file_at(at, "file", "deep", 0644);
    close(at);
}

static void directories_may_be_deep(void **state)
{
    (void)state;
    nest(cp.fds[SOURCE], COPY_MAX_DEPTH);
    copy_it();
    assert_same_trees(cp.fds[SOURCE], cp.fds[COPY]);
}

static void directories_that_are_too_deep_are_told(void **state)
{
    sbr_error err;

    (void)state;
    nest(cp.fds[SOURCE], COPY_MAX_DEPTH + 1);
    assert_refused(copy_tree(cp.fds[SOURCE], cp.fds[COPY], NULL, &cp.copied, &err), &err,
                   SBR_E_INVALID, "nested deeper than 200");
}

static void names_may_be_anything(void **state)
{
    (void)state;
    file_at(cp.fds[SOURCE], "line\nbreak \033[2J \xff\xfe", "x", 0644);
    file_at(cp.fds[SOURCE], "-rf *", "y", 0644);
    copy_it();
    assert_same_trees(cp.fds[SOURCE], cp.fds[COPY]);
}

static void a_full_disk_is_told_with_the_path(void **state)
{
    struct rlimit before, small;
    sbr_error err;
    int r;

    (void)state;
    dir_at(cp.fds[SOURCE], "dir", 0755);
    file_at(cp.fds[SOURCE], "dir/file", "more than there is room for", 0644);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 10, before.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    r = copy_tree(cp.fds[SOURCE], cp.fds[COPY], NULL, &cp.copied, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_refused(r, &err, SBR_E_SYSTEM, "'dir/file'");
    assert_int_equal(err.sys_errno, EFBIG);
}

static bool count_calls(void *context, uint64_t files, uint64_t bytes)
{
    unsigned int *calls = context;

    assert_true(files <= 500 && bytes <= 500);
    ++*calls;
    return true;
}

/* However fast or slow this machine is. */
static void progress_is_told_at_most_five_times_a_second(void **state)
{
    unsigned int calls = 0;
    struct copy_progress progress = { .report = count_calls, .context = &calls };
    struct timespec begin, end;
    sbr_error err;
    char name[16];

    (void)state;
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "%d", i);
        file_at(cp.fds[SOURCE], name, "x", 0644);
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(copy_tree(cp.fds[SOURCE], cp.fds[COPY], &progress, &cp.copied, &err), 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(calls <= (clock_ns(end) - clock_ns(begin)) / 200000000);
    assert_int_equal(cp.copied.files, 500);
}

static void root_takes_owners_over(void **state)
{
    (void)state;
    file_at(cp.fds[SOURCE], "file", "x", 0600);
    link_at(cp.fds[SOURCE], "link", "file");
    if (geteuid() != 0) {
        copy_it();
        return;
    }
    assert_int_equal(fchownat(cp.fds[SOURCE], "file", 1234, 4321, 0), 0);
    assert_int_equal(fchmodat(cp.fds[SOURCE], "file", 06755, 0), 0);
    assert_int_equal(fchownat(cp.fds[SOURCE], "link", 1234, 4321, AT_SYMLINK_NOFOLLOW), 0);
    copy_it();
    assert_int_equal(look_at(cp.fds[COPY], "file").st_uid, 1234);
    assert_int_equal(look_at(cp.fds[COPY], "file").st_gid, 4321);
    assert_int_equal(look_at(cp.fds[COPY], "file").st_mode & 07777, 06755);
    assert_int_equal(look_at(cp.fds[COPY], "link").st_uid, 1234);
}

static void what_cannot_be_read_is_left_out(void **state)
{
    int from = cp.fds[SOURCE];

    (void)state;
    file_at(from, "secret", "x", 0);
    dir_at(from, "locked", 0);
    dir_at(from, "names", 0755);
    file_at(from, "names/file", "x", 0644);
    assert_int_equal(fchmodat(from, "names", 0444, 0), 0);
    copy_it();
    assert_int_equal(cp.copied.left_out, geteuid() == 0 ? 0 : 3);
    find_changes();
    assert_noted("");
}

/* In a mount namespace of its own: 0 when all went well. */
static int copy_with_a_mount(void)
{
    char place[96];
    struct stat st;

    snprintf(place, sizeof(place), "%s/source/mounted", cp.room);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", place, "tmpfs", 0, "mode=711") < 0)
        return 0; /* not allowed here */
    *strrchr(place, '/') = '\0';
    cp.fds[SOURCE] = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* as this namespace has it */
    file_at(cp.fds[SOURCE], "mounted/file", "of another file system", 0644);
    copy_it();
    if (fstatat(cp.fds[COPY], "mounted/file", &st, 0) == 0)
        return 1;
    return fstatat(cp.fds[COPY], "mounted", &st, 0) < 0 || (st.st_mode & 07777) != 0711;
}

static void other_file_systems_are_not_entered(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    dir_at(cp.fds[SOURCE], "mounted", 0755);
    pid = fork();
    if (pid == 0)
        _exit(copy_with_a_mount());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COPY_TEST(a_tree_is_copied_with_its_modes_and_times),
        COPY_TEST(the_top_gets_mode_and_time_as_well),
        COPY_TEST(hard_links_become_files_of_their_own),
        COPY_TEST(holes_stay_holes),
        COPY_TEST(nothing_but_a_hole_is_a_file_too),
        COPY_TEST(what_is_no_file_is_left_out),
        COPY_TEST(directories_may_be_deep),
        COPY_TEST(directories_that_are_too_deep_are_told),
        COPY_TEST(names_may_be_anything),
        COPY_TEST(a_full_disk_is_told_with_the_path),
        COPY_TEST(progress_is_told_at_most_five_times_a_second),
        COPY_TEST(root_takes_owners_over),
        COPY_TEST(what_cannot_be_read_is_left_out),
        COPY_TEST(other_file_systems_are_not_entered),
        cmocka_unit_test(as_an_ordinary_user_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
