/* What init hands out of real trees, straight into an intake. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree.h"
#include "init/collect.h"
#include "monitor/intake.h"
#include "pipe_fixture.h"
#include "unit.h"

#define OTHER_UID 65534

static struct {
    char room[32];
    int root;     /* what is the root inside */
    bool as_user; /* that init is an ordinary one */
    struct plan plan;
    struct init_report *report;
    struct intake intake;
    struct intake_part parts[2];
    struct intake_list lists[2];
} f;

static int set_up(void **state)
{
    static const char *const names[] = { "root", "part0", "part1" };
    int fds[ARRAY_LEN(names)];

    (void)state;
    memset(&f, 0, sizeof(f));
    snprintf(f.room, sizeof(f.room), "/tmp/test_collect.XXXXXX");
    assert_non_null(mkdtemp(f.room));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[64];

        snprintf(path, sizeof(path), "%s/%s", f.room, names[i]);
        assert_int_equal(mkdir(path, 0755), 0);
        fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
    f.root = fds[0];
    for (int i = 0; i < 2; i++)
        f.parts[i] = (struct intake_part){ .dir_fd = fds[1 + i], .list = &f.lists[i] };
    f.plan.scratch_bytes = 1 << 20;
    f.plan.scratch_inodes = 1000;
    f.report = mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f.report != MAP_FAILED);
    assert_int_equal(mkdirat(f.root, "work", 0755), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    intake_done(&f.intake);
    for (int i = 0; i < 2; i++) {
        intake_list_done(&f.lists[i]);
        close(f.parts[i].dir_fd);
    }
    close(f.root);
    munmap(f.report, REPORT_SIZE);
    return tree_remove(AT_FDCWD, f.room);
}

static void collects(enum collect_what what, const char *path)
{
    f.plan.collects[f.plan.n_collects++] = (struct plan_collect){ .what = what, .path = path };
}

static void make_file(const char *path, const char *text)
{
    scoped_fd int fd = openat(f.root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void make_dir(const char *path)
{
    assert_int_equal(mkdirat(f.root, path, 0755), 0);
}

/* In a process of its own, as it takes over descriptors that init has. */
static void hand_out(int pipe_fd, bool succeeded)
{
    struct inside in = { .plan = &f.plan, .report = f.report, .n_uppers = 1 };

    in.root_fd = f.root;
    in.uppers[0] = openat(f.root, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dup2(pipe_fd, INIT_COLLECT) < 0 || (f.as_user && geteuid() == 0 && setuid(OTHER_UID) < 0))
        _exit(1);
    collect(&in, succeeded);
    _exit(0);
}

static void take_out(bool succeeded)
{
    struct pipe_fixture pipe;
    sbr_error err;
    pid_t pid;

    pipe_fixture_init(&pipe);
    (void)fcntl(pipe.write_end, F_SETFL, 0); /* init's end blocks */
    intake_init(&f.intake, f.parts, f.plan.n_collects,
                f.plan.scratch_bytes * COLLECT_BYTES_PER_BYTE,
                f.plan.scratch_inodes * COLLECT_ENTRIES_PER_INODE);
    assert_int_equal(intake_start(&f.intake, take_fd(pipe.read_end), &pipe.loop, &err), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        hand_out(pipe.write_end, succeeded);
    pipe_fixture_close(&pipe.write_end);
    while (f.intake.fd >= 0)
        assert_int_equal(loop_turn(&pipe.loop, 1), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    intake_finish(&f.intake);
    pipe_fixture_done(&pipe);
}

static void assert_whole(void)
{
    if (f.intake.failure.code)
        fail_msg("refused: %s", f.intake.failure.message);
    assert_true(f.intake.complete);
}

static const struct intake_entry *find(const char *path)
{
    for (size_t i = 0; i < f.lists[0].n; i++)
        if (!strcmp(intake_path(&f.lists[0], i), path))
            return &f.lists[0].items[i];
    return NULL;
}

static void assert_kind(const char *path, enum collect_kind kind)
{
    const struct intake_entry *entry = find(path);

    if (!entry)
        fail_msg("'%s' did not come", path);
    assert_int_equal(entry->kind, kind);
}

static void assert_skipped(const char *path, enum collect_skip why)
{
    assert_kind(path, COLLECT_SKIPPED);
    assert_int_equal(find(path)->size, why);
}

static void assert_content(const char *path, const char *expected)
{
    scoped_fd int fd = openat(f.parts[0].dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[100];
    ssize_t n = read(fd, text, sizeof(text) - 1);

    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void make_socket(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/%s", f.room, name);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

/* --- changes ----------------------------------------------------------------------------------- */

static void changes_are_files_links_and_what_is_gone(void **state)
{
    char opaque[64];

    (void)state;
    make_dir("work/new");
    make_file("work/new/file", "text");
    assert_int_equal(symlinkat("/etc/passwd", f.root, "work/link"), 0);
    assert_int_equal(mknodat(f.root, "work/gone", S_IFCHR, 0), 0);
    assert_int_equal(mkfifoat(f.root, "work/pipe", 0600), 0);
    make_socket("work/socket");
    make_dir("work/opaque");
    snprintf(opaque, sizeof(opaque), "%s/root/work/opaque", f.room);
    assert_int_equal(setxattr(opaque, "user.overlay.opaque", "y", 1, 0), 0);
    collects(COLLECTS_CHANGES, "");
    take_out(false); /* whatever the end was */
    assert_whole();
    assert_int_equal(f.lists[0].n, 7);
    assert_kind("new", COLLECT_ENTER);
    assert_int_equal(find("new")->flags, 0);
    assert_content("new/file", "text");
    assert_kind("link", COLLECT_LINK);
    assert_int_equal(find("link")->size, strlen("/etc/passwd"));
    assert_kind("gone", COLLECT_GONE);
    assert_kind("pipe", COLLECT_OTHER);
    assert_kind("socket", COLLECT_OTHER);
    assert_int_equal(find("opaque")->flags, COLLECT_OPAQUE);
}

static void a_device_is_not_what_is_gone(void **state)
{
    (void)state;
    if (mknodat(f.root, "work/null", S_IFCHR | 0600, makedev(1, 3)) < 0)
        skip();
    collects(COLLECTS_CHANGES, "");
    take_out(false);
    assert_whole();
    assert_kind("null", COLLECT_OTHER);
}

static void a_tree_is_handed_out_after_success_alone(void **state)
{
    (void)state;
    make_file("work/file", "text");
    f.parts[0].list = NULL;
    collects(COLLECTS_TREE, "work");
    collects(COLLECTS_OUTPUT, "/work/file");
    take_out(false);
    assert_false(f.parts[0].complete);
    assert_true(f.parts[1].complete);
    assert_int_equal(f.lists[1].n, 2);
}

static void a_tree_that_is_too_deep_fails_alone(void **state)
{
    char path[4096] = "work";

    (void)state;
    make_file("work/file", "text");
    for (int i = 0; i <= COLLECT_MAX_DEPTH; i++) {
        strcat(path, "/d");
        make_dir(path);
    }
    collects(COLLECTS_CHANGES, "");
    collects(COLLECTS_OUTPUT, "/work/file");
    take_out(true);
    assert_refused(f.parts[0].failure.code, &f.parts[0].failure, SBR_E_DENIED, "in one another");
    assert_true(f.parts[1].complete);
}

static void what_is_too_large_is_told(void **state)
{
    char name[32], *text = calloc(1, (1 << 20) + 1);

    (void)state;
    memset(text, 'x', 1 << 20);
    make_file("work/big", text);
    free(text);
    for (int i = 0; i < COLLECT_BYTES_PER_BYTE; i++) {
        snprintf(name, sizeof(name), "work/name%d", i);
        assert_int_equal(linkat(f.root, "work/big", f.root, name, 0), 0);
    }
    collects(COLLECTS_CHANGES, "");
    take_out(true);
    assert_refused(f.parts[0].failure.code, &f.parts[0].failure, SBR_E_DENIED,
                   "too large; raise its limit 'disk'");
}

static void too_many_are_told(void **state)
{
    (void)state;
    f.plan.scratch_inodes = 3;
    for (char i = 'a'; i < 'a' + 7; i++)
        make_file((const char[]){ 'w', 'o', 'r', 'k', '/', i, '\0' }, "");
    collects(COLLECTS_CHANGES, "");
    take_out(true);
    assert_refused(f.parts[0].failure.code, &f.parts[0].failure, SBR_E_DENIED, "too many files");
}

static void holes_are_not_sent(void **state)
{
    scoped_fd int fd = -1;
    struct stat st;

    (void)state;
    make_file("work/sparse", "start");
    fd = openat(f.root, "work/sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "middle", 6, 1 << 20), 6);
    assert_int_equal(ftruncate(fd, 16 << 20), 0);
    collects(COLLECTS_CHANGES, "");
    take_out(true);
    assert_whole();
    assert_int_equal(find("sparse")->size, 16 << 20);
    assert_content("sparse", "start"); /* NULs follow */
    assert_int_equal(fstatat(f.parts[0].dir_fd, "sparse", &st, 0), 0);
    assert_int_equal(st.st_size, 16 << 20);
    assert_true(f.intake.bytes < 64 * 1024);
}

static void what_nobody_wants_is_not_read(void **state)
{
    (void)state;
    make_file("work/file", "text");
    collects(COLLECTS_CHANGES, "");
    f.report->dropped = true;
    take_out(true);
    assert_false(f.parts[0].complete);
    assert_int_equal(f.lists[0].n, 0);
}

/* --- what the program locked ------------------------------------------------------------------- */

/* Root is held up by no mode, so the walker is an ordinary user here. */
static void give_away(const char *path, mode_t mode)
{
    if (geteuid() == 0)
        assert_int_equal(fchownat(f.root, path, OTHER_UID, OTHER_UID, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(fchmodat(f.root, path, mode, 0), 0);
}

static void modes_do_not_lock_us_out(void **state)
{
    struct stat st;

    (void)state;
    make_file("work/file", "secret");
    make_dir("work/dir");
    make_file("work/dir/file", "deeper");
    give_away("work/dir/file", 0);
    give_away("work/dir", 0);
    give_away("work/file", 0);
    give_away("work", 0755);
    collects(COLLECTS_OUTPUT, "/work/**");
    f.as_user = true;
    take_out(true);
    assert_whole();
    assert_content("work/file", "secret");
    assert_content("work/dir/file", "deeper");
    assert_int_equal(find("work/dir")->mode, S_IFDIR);
    assert_int_equal(find("work/file")->mode, S_IFREG);
    assert_int_equal(fstatat(f.root, "work/dir", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFDIR); /* as it was */
}

/* --- outputs ----------------------------------------------------------------------------------- */

static void outputs_are_files_that_match(void **state)
{
    (void)state;
    make_file("work/a.txt", "a");
    make_file("work/b.png", "b");
    make_dir("work/sub");
    make_file("work/sub/c.txt", "c");
    make_dir("work/empty");
    collects(COLLECTS_OUTPUT, "/work/*.txt");
    take_out(true);
    assert_whole();
    assert_int_equal(f.lists[0].n, 2);
    assert_kind("work", COLLECT_ENTER);
    assert_content("work/a.txt", "a");
}

static void a_pattern_may_span_directories(void **state)
{
    (void)state;
    make_dir("work/one");
    make_dir("work/one/two");
    make_file("work/one/two/x.txt", "x");
    make_file("work/one/y.txt", "y");
    make_file("work/z.txt", "z");
    make_dir("work/none");
    make_file("work/none/file", "no");
    collects(COLLECTS_OUTPUT, "/work/**/*.txt");
    take_out(true);
    assert_whole();
    assert_content("work/one/two/x.txt", "x");
    assert_content("work/one/y.txt", "y");
    assert_content("work/z.txt", "z");
    assert_null(find("work/none"));
}

static void a_directory_stands_for_what_is_in_it(void **state)
{
    (void)state;
    make_dir("work/dist");
    make_dir("work/dist/js");
    make_file("work/dist/js/app.js", "js");
    make_dir("work/dist/empty");
    collects(COLLECTS_OUTPUT, "/work/dist");
    take_out(true);
    assert_whole();
    assert_content("work/dist/js/app.js", "js");
    assert_null(find("work/dist/empty"));
}

static void nothing_that_matches_is_nothing(void **state)
{
    (void)state;
    collects(COLLECTS_OUTPUT, "/work/none/*.txt");
    collects(COLLECTS_OUTPUT, "/work/none.txt");
    take_out(true);
    assert_whole();
    assert_int_equal(f.lists[0].n + f.lists[1].n, 0);
}

static void what_is_no_file_is_named_and_left(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", f.root, "work/link"), 0);
    assert_int_equal(symlinkat("/proc/self/root", f.root, "work/root"), 0);
    assert_int_equal(mkfifoat(f.root, "work/pipe", 0600), 0);
    make_socket("work/socket");
    make_file("work/line\nbreak", "x");
    make_file("work/\033]0;title\007", "x");
    make_file("work/\xc2\x9b", "x");
    make_file("work/\xff\xfe", "bytes");
    make_dir("work/d\n");
    make_file("work/d\n/inside", "x");
    collects(COLLECTS_OUTPUT, "/work/*");
    take_out(true);
    assert_whole();
    assert_skipped("work/link", SKIP_LINK);
    assert_skipped("work/root", SKIP_LINK);
    assert_skipped("work/pipe", SKIP_OTHER);
    assert_skipped("work/socket", SKIP_OTHER);
    assert_skipped("work/line\nbreak", SKIP_NAME);
    assert_skipped("work/\033]0;title\007", SKIP_NAME);
    assert_skipped("work/\xc2\x9b", SKIP_NAME);
    assert_skipped("work/d\n", SKIP_NAME);
    assert_content("work/\xff\xfe", "bytes");
    assert_int_equal(f.lists[0].n, 10);
}

static void links_are_not_followed_on_the_way(void **state)
{
    (void)state;
    make_dir("elsewhere");
    make_file("elsewhere/file", "secret");
    assert_int_equal(symlinkat("../elsewhere", f.root, "work/link"), 0);
    collects(COLLECTS_OUTPUT, "/work/link/file");
    collects(COLLECTS_OUTPUT, "/work/*/file");
    take_out(true);
    assert_whole();
    assert_skipped("work/link", SKIP_LINK);
    assert_int_equal(f.lists[1].n, 0);
}

static void too_deep_is_skipped(void **state)
{
    char path[4096] = "work";

    (void)state;
    make_file("work/file", "text");
    for (int i = 0; i < COLLECT_MAX_DEPTH; i++) {
        strcat(path, "/d");
        make_dir(path);
    }
    collects(COLLECTS_OUTPUT, "/work/**");
    take_out(true);
    assert_whole();
    assert_content("work/file", "text");
    assert_skipped(path, SKIP_DEPTH);
}

static void too_much_is_skipped_file_by_file(void **state)
{
    char name[32], *text = calloc(1, (1 << 20) + 1);
    size_t taken = 0, skipped = 0;

    (void)state;
    memset(text, 'x', 1 << 20);
    make_file("work/big", text);
    free(text);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "work/name%d", i);
        assert_int_equal(linkat(f.root, "work/big", f.root, name, 0), 0);
    }
    collects(COLLECTS_OUTPUT, "/work/*");
    take_out(true);
    assert_whole();
    for (size_t i = 0; i < f.lists[0].n; i++) {
        taken += f.lists[0].items[i].kind == COLLECT_FILE;
        skipped += f.lists[0].items[i].kind == COLLECT_SKIPPED &&
                   f.lists[0].items[i].size == SKIP_TOO_MUCH;
    }
    assert_int_equal(taken, COLLECT_BYTES_PER_BYTE);
    assert_int_equal(taken + skipped, 10);
}

#define COLLECT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COLLECT_TEST(changes_are_files_links_and_what_is_gone),
        COLLECT_TEST(a_device_is_not_what_is_gone),
        COLLECT_TEST(a_tree_is_handed_out_after_success_alone),
        COLLECT_TEST(a_tree_that_is_too_deep_fails_alone),
        COLLECT_TEST(what_is_too_large_is_told),
        COLLECT_TEST(too_many_are_told),
        COLLECT_TEST(holes_are_not_sent),
        COLLECT_TEST(what_nobody_wants_is_not_read),
        COLLECT_TEST(modes_do_not_lock_us_out),
        COLLECT_TEST(outputs_are_files_that_match),
        COLLECT_TEST(a_pattern_may_span_directories),
        COLLECT_TEST(a_directory_stands_for_what_is_in_it),
        COLLECT_TEST(nothing_that_matches_is_nothing),
        COLLECT_TEST(what_is_no_file_is_named_and_left),
        COLLECT_TEST(links_are_not_followed_on_the_way),
        COLLECT_TEST(too_deep_is_skipped),
        COLLECT_TEST(too_much_is_skipped_file_by_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
