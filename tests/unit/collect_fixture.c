#include "collect_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree.h"
#include "pipe_fixture.h"
#include "unit.h"

struct collect_fixture f;

int collect_set_up(void **state)
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
    intake_init(&f.intake, f.parts, 0, 0, 0); /* for tests that end before they take anything */
    f.plan.scratch_bytes = 1 << 20;
    f.plan.scratch_inodes = 1000;
    f.report = mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f.report != MAP_FAILED);
    assert_int_equal(mkdirat(f.root, "work", 0755), 0);
    return 0;
}

int collect_tear_down(void **state)
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

void collects(enum collect_what what, const char *path)
{
    f.plan.collects[f.plan.n_collects++] = (struct plan_collect){ .what = what, .path = path };
}

void make_file(const char *path, const char *text)
{
    scoped_fd int fd = openat(f.root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

void make_dir(const char *path)
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

void take_out(bool succeeded)
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

void assert_whole(void)
{
    if (f.intake.failure.code)
        fail_msg("refused: %s", f.intake.failure.message);
    assert_true(f.intake.complete);
}

const struct intake_entry *find(const char *path)
{
    for (size_t i = 0; i < f.lists[0].n; i++)
        if (!strcmp(intake_path(&f.lists[0], i), path))
            return &f.lists[0].items[i];
    return NULL;
}

void assert_kind(const char *path, enum collect_kind kind)
{
    const struct intake_entry *entry = find(path);

    if (!entry)
        fail_msg("'%s' did not come", path);
    assert_int_equal(entry->kind, kind);
}

void assert_skipped(const char *path, enum collect_skip why)
{
    assert_kind(path, COLLECT_SKIPPED);
    assert_int_equal(find(path)->size, why);
}

void assert_content(const char *path, const char *expected)
{
    scoped_fd int fd = openat(f.parts[0].dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[100];
    ssize_t n = read(fd, text, sizeof(text) - 1);

    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

void make_socket(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/%s", f.room, name);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void make_big(int n)
{
    char name[32], *text = malloc((1 << 20) + 1);

    assert_non_null(text);
    memset(text, 'x', 1 << 20);
    text[1 << 20] = '\0';
    make_file("work/big", text);
    free(text);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "work/name%d", i);
        assert_int_equal(linkat(f.root, "work/big", f.root, name, 0), 0);
    }
}
