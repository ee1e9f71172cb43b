#include "tree_pair.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "unit.h"

#define ROOM "/tmp/sandbox-run-pair-XXXXXX"

struct tree_pair t;

static int open_dir(int dir_fd, const char *name)
{
    int fd;

    assert_int_equal(mkdirat(dir_fd, name, 0700), 0);
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

int pair_set_up(void **state)
{
    sbr_error err;

    (void)state;
    t = (struct tree_pair){ 0 };
    memcpy(t.path, ROOM, sizeof(ROOM));
    assert_non_null(mkdtemp(t.path));
    t.disk_usage_fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(t.disk_usage_fd >= 0);
    t.base_fd = open_dir(t.disk_usage_fd, "base");
    t.tree_fd = open_dir(t.disk_usage_fd, "tree");
    t.collected.content_fd = open_dir(t.tree_fd, "0");
    snprintf(t.base_path, sizeof(t.base_path), "%s/base", t.path);
    assert_int_equal(changes_add_root(&t.changes, t.base_path, "/work", &err), 0);
    return 0;
}

int pair_tear_down(void **state)
{
    (void)state;
    changes_done(&t.changes);
    collect_list_done(&t.collected.list);
    close(t.base_fd);
    close(t.tree_fd);
    close(t.collected.content_fd);
    close(t.disk_usage_fd);
    return tree_remove(AT_FDCWD, t.path);
}

void pair_again(void)
{
    assert_int_equal(pair_tear_down(NULL), 0);
    pair_set_up(NULL);
}

void tree_file(int dir_fd, const char *path, const char *text, mode_t mode)
{
    scoped_fd int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

void tree_dir(int dir_fd, const char *path, mode_t mode)
{
    assert_int_equal(mkdirat(dir_fd, path, 0700), 0);
    assert_int_equal(fchmodat(dir_fd, path, mode, 0), 0);
}

void make_link(int dir_fd, const char *path, const char *text)
{
    assert_int_equal(symlinkat(text, dir_fd, path), 0);
}

static void take(struct collect_list_entry entry, const char *path)
{
    assert_int_equal(collect_list_add(&t.collected.list, entry, path), 0);
}

void take_file(const char *path, const char *text, mode_t mode)
{
    tree_file(t.collected.content_fd, path, text, 0600);
    take((struct collect_list_entry){ .kind = COLLECT_FILE,
                                      .mode = S_IFREG | mode,
                                      .size = strlen(text) },
         path);
}

void take_dir(const char *path, mode_t mode, unsigned int flags)
{
    tree_dir(t.collected.content_fd, path, 0700);
    take((struct collect_list_entry){ .kind = COLLECT_ENTER,
                                      .mode = S_IFDIR | mode,
                                      .flags = flags },
         path);
}

void take_link(const char *path, const char *text)
{
    make_link(t.collected.content_fd, path, text);
    take((struct collect_list_entry){ .kind = COLLECT_LINK,
                                      .mode = S_IFLNK | 0777,
                                      .size = strlen(text) },
         path);
}

void take_mark(enum collect_kind kind, const char *path, mode_t mode)
{
    take((struct collect_list_entry){ .kind = kind, .mode = mode }, path);
}

char *changes_lines(const struct changes *changes)
{
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];

        buf_printf(&out, "%s %s%s%s\n", change_op_name(c->op), c->path, c->from ? " from " : "",
                   c->from ? c->from : "");
    }
    return buf_take(&out, NULL);
}

void assert_changes(const char *expected)
{
    scoped_free char *lines = changes_lines(&t.changes);

    assert_string_equal(lines, expected);
}

const struct change *change_at(const char *path)
{
    for (size_t i = 0; i < t.changes.n; i++)
        if (!strcmp(t.changes.items[i].path, path))
            return &t.changes.items[i];
    fail_msg("nothing was changed at '%s'", path);
    return NULL;
}
