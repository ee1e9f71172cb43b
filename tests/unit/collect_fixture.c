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
#include "base/tree_remove.h"
#include "pipe_fixture.h"
#include "unit.h"

struct collect_fixture made;

int collect_set_up(void **state)
{
    static const char *const names[] = { "root", "part0", "part1" };
    int fds[ARRAY_LEN(names)];

    (void)state;
    memset(&made, 0, sizeof(made));
    snprintf(made.disk_usage, sizeof(made.disk_usage), "/tmp/test_collect.XXXXXX");
    assert_non_null(mkdtemp(made.disk_usage));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[64];

        snprintf(path, sizeof(path), "%s/%s", made.disk_usage, names[i]);
        assert_int_equal(mkdir(path, 0755), 0);
        fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
    made.root = fds[0];
    for (int i = 0; i < 2; i++)
        made.parts[i] = (struct collect_part){ .dir_fd = fds[1 + i], .list = &made.lists[i] };
    collect_reader_init(&made.collect_reader, made.parts, 0, 0,
                        0); /* for tests that end before they take anything */
    made.plan.scratch_bytes = 1 << 20;
    made.plan.scratch_inodes = 1000;
    made.report =
        mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(made.report != MAP_FAILED);
    assert_int_equal(mkdirat(made.root, "work", 0755), 0);
    return 0;
}

int collect_tear_down(void **state)
{
    (void)state;
    collect_reader_done(&made.collect_reader);
    for (int i = 0; i < 2; i++) {
        collect_list_done(&made.lists[i]);
        close(made.parts[i].dir_fd);
    }
    close(made.root);
    munmap(made.report, REPORT_SIZE);
    return tree_remove(AT_FDCWD, made.disk_usage);
}

void collects(enum collect_what what, const char *path)
{
    made.plan.collects[made.plan.n_collects++] =
        (struct plan_collect){ .what = what, .path = path };
}

void put_file(const char *path, const char *text)
{
    scoped_fd int fd = openat(made.root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

void put_dir(const char *path)
{
    assert_int_equal(mkdirat(made.root, path, 0755), 0);
}

/* In a process of its own, as it takes over descriptors that init has. */
static void hand_out(int pipe_fd, bool succeeded)
{
    struct inside in = { .plan = &made.plan, .report = made.report, .n_uppers = 1 };

    in.root_fd = made.root;
    in.uppers[0] = openat(made.root, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dup2(pipe_fd, INIT_COLLECT) < 0 ||
        (made.as_user && geteuid() == 0 && setuid(OTHER_UID) < 0))
        _exit(1);
    collect_run(&in, succeeded);
    _exit(0);
}

void take_out(bool succeeded)
{
    struct pipe_fixture pipe;
    sbr_error err;
    pid_t pid;

    pipe_fixture_init(&pipe);
    (void)fcntl(pipe.write_end, F_SETFL, 0); /* init's end blocks */
    collect_reader_init(&made.collect_reader, made.parts, made.plan.n_collects,
                        made.plan.scratch_bytes * COLLECT_BYTES_PER_BYTE,
                        made.plan.scratch_inodes * COLLECT_ENTRIES_PER_INODE);
    assert_int_equal(collect_reader_start(&made.collect_reader, take_fd(pipe.read_end), &pipe.loop,
                                          &err),
                     0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        hand_out(pipe.write_end, succeeded);
    pipe_fixture_close(&pipe.write_end);
    while (made.collect_reader.fd >= 0)
        assert_true(loop_turn(&pipe.loop, LOOP_FOREVER) >= 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    collect_reader_finish(&made.collect_reader);
    pipe_fixture_done(&pipe);
}

void assert_whole(void)
{
    if (made.collect_reader.failure.code)
        fail_msg("refused: %s", made.collect_reader.failure.message);
    assert_true(made.collect_reader.complete);
}

const struct collect_list_entry *find(const char *path)
{
    for (size_t i = 0; i < made.lists[0].n; i++)
        if (!strcmp(collect_list_path(&made.lists[0], i), path))
            return &made.lists[0].items[i];
    return NULL;
}

void assert_kind(const char *path, enum collect_kind kind)
{
    const struct collect_list_entry *entry = find(path);

    if (!entry)
        fail_msg("'%s' did not come", path);
    assert_int_equal(entry->kind, kind);
}

void assert_skipped(const char *path, enum collect_skip why)
{
    assert_kind(path, COLLECT_SKIPPED);
    assert_int_equal(find(path)->size, why);
}

void assert_file_holds(const char *path, const char *expected)
{
    scoped_fd int fd = openat(made.parts[0].dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
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

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/%s", made.disk_usage, name);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void make_big(int n)
{
    char name[32], *text = malloc((1 << 20) + 1);

    assert_non_null(text);
    memset(text, 'x', 1 << 20);
    text[1 << 20] = '\0';
    put_file("work/big", text);
    free(text);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "work/name%d", i);
        assert_int_equal(linkat(made.root, "work/big", made.root, name, 0), 0);
    }
}
