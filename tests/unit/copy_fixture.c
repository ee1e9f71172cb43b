#include "copy_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "unit.h"

#define ORDINARY 65534

struct copy_fixture cp;

static const char *const places[N_COPY_PLACES] = { "source", "copy", "content", "second" };

static int open_dir(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        fail_msg("cannot open '%s': %s", path, strerror(errno));
    return fd;
}

int copy_set_up(void **state)
{
    char path[96];

    (void)state;
    cp = (struct copy_fixture){ 0 };
    snprintf(cp.room, sizeof(cp.room), "/tmp/test_copy.XXXXXX");
    assert_non_null(mkdtemp(cp.room));
    for (int i = 0; i < N_COPY_PLACES; i++) {
        snprintf(path, sizeof(path), "%s/%s", cp.room, places[i]);
        dir_at(AT_FDCWD, path, 0755);
        cp.fds[i] = open_dir(AT_FDCWD, path);
    }
    cp.collected.content_fd = cp.fds[CONTENT];
    return 0;
}

int copy_tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < N_COPY_PLACES; i++) {
        (void)fchmod(cp.fds[i], 0700);
        close(cp.fds[i]);
    }
    copy_done(&cp.copied);
    collect_list_done(&cp.collected.list);
    assert_int_equal(tree_remove(AT_FDCWD, cp.room), 0);
    return 0;
}

void copy_again(void)
{
    copy_tear_down(NULL);
    copy_set_up(NULL);
}

void file_at(int at, const char *path, const char *content, mode_t mode)
{
    scoped_fd int fd =
        openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        fail_msg("cannot write '%s': %s", path, strerror(errno));
    assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

void dir_at(int at, const char *path, mode_t mode)
{
    assert_int_equal(mkdirat(at, path, 0700), 0);
    assert_int_equal(fchmodat(at, path, mode, 0), 0);
}

void link_at(int at, const char *path, const char *text)
{
    assert_int_equal(symlinkat(text, at, path), 0);
}

struct stat look_at(int at, const char *path)
{
    struct stat st;

    if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        fail_msg("there is no '%s': %s", path, strerror(errno));
    return st;
}

static char *content_of(int at, const char *path, size_t *ret_len)
{
    scoped_fd int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    sbr_error err;
    char *text;

    if (fd < 0)
        fail_msg("cannot read '%s': %s", path, strerror(errno));
    assert_int_equal(fd_read_text(fd, 64 << 20, &text, ret_len, &err), 0);
    return text;
}

void assert_content_at(int at, const char *path, const char *content)
{
    size_t len;
    scoped_free char *text = content_of(at, path, &len);

    assert_string_equal(text, content);
}

void remove_at(int at, const char *path)
{
    assert_int_equal(tree_remove(at, path), 0);
}

void copy_it(void)
{
    sbr_error err = { 0 };

    if (copy_tree(cp.fds[SOURCE], cp.fds[COPY], NULL, &cp.copied, &err) != 0)
        fail_msg("%s", err.message);
}

void find_changes(void)
{
    sbr_error err = { 0 };

    if (copy_changes(cp.fds[COPY], &cp.copied, &cp.collected, &err) != 0)
        fail_msg("%s", err.message);
}

static const char letters[] = {
    [COLLECT_ENTER] = 'D', [COLLECT_FILE] = 'F',  [COLLECT_LINK] = 'L',
    [COLLECT_GONE] = 'G',  [COLLECT_OTHER] = 'O',
};

void assert_noted(const char *expected)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_add_text(&text, "");
    for (size_t i = 0; i < cp.collected.list.n; i++)
        buf_printf(&text, "%c %s\n", letters[cp.collected.list.items[i].kind],
                   collect_list_path(&cp.collected.list, i));
    assert_string_equal(text.data, expected);
    buf_done(&text);
}

const struct collect_list_entry *entry_at(const char *path)
{
    for (size_t i = 0; i < cp.collected.list.n; i++)
        if (!strcmp(collect_list_path(&cp.collected.list, i), path))
            return &cp.collected.list.items[i];
    fail_msg("'%s' is not in the list", path);
    return NULL;
}

/* What stands in the way of a directory goes. */
static void apply_dir(int at, const char *path, const struct collect_list_entry *entry)
{
    struct stat st;

    if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISDIR(st.st_mode) || entry->flags & COLLECT_OPAQUE))
        remove_at(at, path);
    assert_true(mkdirat(at, path, 0700) == 0 || errno == EEXIST);
    assert_int_equal(fchmodat(at, path, 0700, 0), 0); /* its own mode comes last */
}

static void apply_file(int at, const char *path, const struct collect_list_entry *entry)
{
    size_t len;
    scoped_free char *text = content_of(cp.fds[CONTENT], path, &len);
    scoped_fd int fd = -1;

    assert_int_equal(len, entry->size);
    assert_int_equal(look_at(cp.fds[CONTENT], path).st_mode, S_IFREG | 0600);
    remove_at(at, path);
    fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, len), 0);
    assert_int_equal(fchmod(fd, entry->mode & 07777), 0);
}

static void apply_link(int at, const char *path)
{
    char text[4097] = "";

    assert_true(readlinkat(cp.fds[CONTENT], path, text, sizeof(text) - 1) > 0);
    remove_at(at, path);
    link_at(at, path, text);
}

void apply_taken(enum copy_place place)
{
    const struct collect_list *list = &cp.collected.list;
    int at = cp.fds[place];

    for (size_t i = 0; i < list->n; i++) {
        const char *path = collect_list_path(list, i);

        switch (list->items[i].kind) {
        case COLLECT_ENTER:
            apply_dir(at, path, &list->items[i]);
            break;
        case COLLECT_FILE:
            apply_file(at, path, &list->items[i]);
            break;
        case COLLECT_LINK:
            apply_link(at, path);
            break;
        case COLLECT_GONE:
            remove_at(at, path);
            break;
        default:
            fail_msg("'%s' cannot be applied", path);
        }
    }
    for (size_t i = list->n; i-- > 0;)
        if (list->items[i].kind == COLLECT_ENTER)
            assert_int_equal(fchmodat(at, collect_list_path(list, i), list->items[i].mode & 07777,
                                      0),
                             0);
}

static void assert_same_node(int a, int b, const char *name)
{
    struct stat in_a = look_at(a, name), in_b = look_at(b, name);
    char text_a[4097] = "", text_b[4097] = "";
    size_t len_a, len_b;

    if (in_a.st_mode != in_b.st_mode)
        fail_msg("'%s' has mode %o and %o", name, in_a.st_mode, in_b.st_mode);
    if (S_ISREG(in_a.st_mode)) {
        scoped_free char *data_a = content_of(a, name, &len_a),
                         *data_b = content_of(b, name, &len_b);

        assert_int_equal(len_a, len_b);
        assert_memory_equal(data_a, data_b, len_a);
    } else if (S_ISDIR(in_a.st_mode)) {
        scoped_fd int dir_a = open_dir(a, name), dir_b = open_dir(b, name);

        assert_same_trees(dir_a, dir_b);
    } else if (S_ISLNK(in_a.st_mode)) {
        assert_true(readlinkat(a, name, text_a, sizeof(text_a) - 1) > 0);
        assert_true(readlinkat(b, name, text_b, sizeof(text_b) - 1) > 0);
        assert_string_equal(text_a, text_b);
    }
}

void assert_same_trees(int a, int b)
{
    struct listing in_a, in_b;

    assert_int_equal(listing_read(a, &in_a), 0);
    assert_int_equal(listing_read(b, &in_b), 0);
    for (size_t i = 0; i < in_a.n && i < in_b.n; i++)
        assert_string_equal(in_a.names[i], in_b.names[i]);
    assert_int_equal(in_a.n, in_b.n);
    for (size_t i = 0; i < in_a.n; i++)
        assert_same_node(a, b, in_a.names[i]);
    listing_done(&in_a);
    listing_done(&in_b);
}

/* The file, and the folder that it lies in, may be closed to others. */
static int copy_of_this_program(void)
{
    scoped_fd int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int copy = memfd_create("again", MFD_CLOEXEC);

    while (sendfile(copy, program, NULL, 1 << 20) > 0)
        ;
    return copy;
}

static void become_ordinary(void)
{
    char name[] = "again";
    char *const words[] = { name, NULL };
    scoped_fd int program = copy_of_this_program();

    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && setgroups(0, NULL) == 0 &&
        setresgid(ORDINARY, ORDINARY, ORDINARY) == 0 &&
        setresuid(ORDINARY, ORDINARY, ORDINARY) == 0)
        fexecve(program, words, environ);
    _exit(99);
}

void as_an_ordinary_user_too(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        return;
    pid = fork();
    if (pid == 0)
        become_ordinary();
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
