#include "tree_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/tree_remove.h"
#include "changes/node.h"
#include "unit.h"

#define PATH_SIZE 600
#define MAX_NODES 400

struct nodes {
    char *paths[MAX_NODES];
    size_t n;
};

void tree_place_make(struct tree_place *place)
{
    /* In memory if possible: much of it is flushed. */
    snprintf(place->top, sizeof(place->top), "%s/sbr-apply-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(place->top));
    place->top_fd = open(place->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->top_fd >= 0);
    assert_int_equal(mkdirat(place->top_fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->top_fd, "b", 0755), 0);
    setenv("SANDBOX_RUN_STATE", tree_at(place, "state"), 1);
}

void tree_place_remove(struct tree_place *place)
{
    close(place->top_fd);
    assert_int_equal(tree_remove(AT_FDCWD, place->top), 0);
    unsetenv("SANDBOX_RUN_STATE");
}

const char *tree_at(const struct tree_place *place, const char *name)
{
    static char paths[8][PATH_SIZE];
    static unsigned int turn;
    char *path = paths[turn++ % 8];

    snprintf(path, PATH_SIZE, "%s/%s", place->top, name);
    return path;
}

int tree_open(const struct tree_place *place, const char *name)
{
    int fd = openat(place->top_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void below(char path[PATH_SIZE], const char *top, const char *name)
{
    assert_true(snprintf(path, PATH_SIZE, "%s/%s", top, name) < PATH_SIZE);
}

void tree_write(const char *top, const char *path, const char *text)
{
    char whole[PATH_SIZE];
    int fd;

    below(whole, top, path);
    fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

void tree_make(const char *top, const char *lines)
{
    char path[200], whole[PATH_SIZE], rest[200];
    unsigned int mode;
    char kind;
    int used;

    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
        rest[0] = '\0';
        if (sscanf(lines, " l %199s %199[^\n]", path, rest) == 2) {
            below(whole, top, path);
            assert_int_equal(symlink(rest, whole), 0);
            continue;
        }
        if (sscanf(lines, " %c %199s %o%n", &kind, path, &mode, &used) != 3)
            continue;
        (void)sscanf(lines + used, " %199[^\n]", rest);
        below(whole, top, path);
        if (kind == 'd')
            assert_int_equal(mkdir(whole, 0700), 0);
        else
            tree_write(top, path, rest);
        assert_int_equal(chmod(whole, mode), 0);
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(const char *top, const char *path, struct nodes *nodes)
{
    char whole[PATH_SIZE], next[PATH_SIZE];
    const struct dirent *entry;
    DIR *dir;

    below(whole, top, path);
    dir = opendir(whole);
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        struct stat st;

        if (tree_is_dots(entry->d_name))
            continue;
        assert_true(snprintf(next, sizeof(next), "%s%s%s", path, *path ? "/" : "", entry->d_name) <
                    PATH_SIZE);
        assert_true(nodes->n < MAX_NODES);
        nodes->paths[nodes->n++] = strdup(next);
        assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
        if (S_ISDIR(st.st_mode) && st.st_mode & S_IXUSR)
            list(top, next, nodes);
    }
    closedir(dir);
}

static void list_all(const char *top, struct nodes *nodes)
{
    nodes->n = 0;
    list(top, "", nodes);
    if (nodes->n)
        qsort(nodes->paths, nodes->n, sizeof(*nodes->paths), compare_texts);
}

static void nodes_done(struct nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        free(nodes->paths[i]);
}

char *tree_tell(const char *top, bool times)
{
    struct nodes nodes;
    struct buf out;

    buf_init(&out, 1 << 20);
    buf_add_text(&out, "");
    list_all(top, &nodes);
    for (size_t i = 0; i < nodes.n; i++) {
        char whole[PATH_SIZE], text[4096];
        struct stat st;
        ssize_t n;

        below(whole, top, nodes.paths[i]);
        assert_int_equal(lstat(whole, &st), 0);
        if (S_ISLNK(st.st_mode)) {
            n = readlink(whole, text, sizeof(text) - 1);
            text[n > 0 ? n : 0] = '\0';
            buf_printf(&out, "l %s %s\n", nodes.paths[i], text);
        } else if (S_ISDIR(st.st_mode)) {
            buf_printf(&out, "d %s %o\n", nodes.paths[i], st.st_mode & 07777);
        } else {
            n = fd_read_small(AT_FDCWD, whole, text, sizeof(text));
            buf_printf(&out, "f %s %o %s", nodes.paths[i], st.st_mode & 07777, n < 0 ? "?" : text);
            if (times)
                buf_printf(&out, " @%lld.%09ld", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
            buf_add_text(&out, "\n");
        }
    }
    nodes_done(&nodes);
    return buf_take(&out, NULL);
}

void tree_copy(const char *from, const char *to)
{
    char command[2 * PATH_SIZE + 40];
    int r;

    assert_true(snprintf(command, sizeof(command), "cp -a '%s/.' '%s'", from, to) <
                (int)sizeof(command));
    r = system(command); /* lint-ok: system: a test, and the names are ours */
    assert_int_equal(r, 0);
}

static struct node_state look(const char *top, const char *path)
{
    char whole[PATH_SIZE];
    struct stat st;

    below(whole, top, path);
    if (lstat(whole, &st) < 0)
        return (struct node_state){ 0 };
    return node_state_of(&st);
}

static bool same(const char *a, const char *b, const char *path, const struct node *x,
                 const struct node *y)
{
    char x_sum[SHA256_HEX_SIZE] = "", y_sum[SHA256_HEX_SIZE] = "";
    int a_fd = open(a, O_PATH | O_CLOEXEC), b_fd = open(b, O_PATH | O_CLOEXEC);

    if (x->kind == y->kind && x->kind != NODE_DIR) {
        assert_int_equal(node_sum(a_fd, path, x_sum), 0);
        assert_int_equal(node_sum(b_fd, path, y_sum), 0);
    }
    close(a_fd);
    close(b_fd);
    return x->kind == y->kind && strcmp(x_sum, y_sum) == 0;
}

static void add_change(const char *a, const char *b, const char *path, struct changes *ret)
{
    struct node_state before = look(a, path), after = look(b, path);
    struct change c = { .now = after.node,
                        .base = before.node,
                        .base_ino = before.ino,
                        .base_ctime_ns = before.ctime_ns };
    sbr_error err;
    int fd;

    if (!before.node.kind)
        c.op = CHANGE_CREATED;
    else if (!after.node.kind)
        c.op = CHANGE_DELETED;
    else if (!same(a, b, path, &before.node, &after.node))
        c.op = CHANGE_MODIFIED;
    else if (before.node.mode != after.node.mode)
        c.op = CHANGE_MODE;
    else
        return;
    fd = open(a, O_PATH | O_CLOEXEC);
    if (before.node.kind == NODE_FILE || before.node.kind == NODE_LINK)
        assert_int_equal(node_sum(fd, path, c.base_sum), 0);
    close(fd);
    c.path = strdup(path);
    assert_int_equal(changes_add(ret, &c, &err), 0);
}

void tree_changes(const char *a, const char *b, struct changes *ret)
{
    struct nodes in_a, in_b;
    sbr_error err;

    if (!ret->n_roots)
        assert_int_equal(changes_add_root(ret, a, "/work", &err), 0);
    list_all(a, &in_a);
    list_all(b, &in_b);
    for (size_t i = 0; i < in_a.n; i++)
        add_change(a, b, in_a.paths[i], ret);
    for (size_t i = 0; i < in_b.n; i++)
        if (!look(a, in_b.paths[i]).node.kind)
            add_change(a, b, in_b.paths[i], ret);
    changes_sort(ret);
    nodes_done(&in_a);
    nodes_done(&in_b);
}

static void make_parents(const char *top, const char *path)
{
    char whole[PATH_SIZE];

    below(whole, top, path);
    for (char *p = whole + strlen(top) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(whole, 0700);
        *p = '/';
    }
}

void tree_contents(const char *b, const struct changes *changes, const char *contents)
{
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];
        char from[PATH_SIZE], to[PATH_SIZE], text[4096];
        ssize_t n;

        if (c->op == CHANGE_DELETED || c->op == CHANGE_MODE)
            continue;
        make_parents(contents, c->path);
        below(from, b, c->path);
        below(to, contents, c->path);
        if (c->now.kind == NODE_DIR) {
            (void)mkdir(to, 0700);
        } else if (c->now.kind == NODE_LINK) {
            n = readlink(from, text, sizeof(text) - 1);
            assert_true(n > 0);
            text[n] = '\0';
            assert_int_equal(symlink(text, to), 0);
        } else {
            (void)chmod(from, 0600); /* only an ordinary user needs it, and `b` is used up */
            assert_true(fd_read_small(AT_FDCWD, from, text, sizeof(text)) >= 0);
            tree_write(contents, c->path, text);
            assert_int_equal(chmod(to, 0600), 0);
        }
    }
}

static unsigned int draw(unsigned int *seed, unsigned int n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

/* Few names, so that files and directories meet. */
static void random_path(const char *top, unsigned int *seed, char path[PATH_SIZE])
{
    unsigned int depth = 1 + draw(seed, 3);

    path[0] = '\0';
    for (unsigned int i = 0; i < depth; i++) {
        size_t used = strlen(path);

        snprintf(path + used, PATH_SIZE - used, "%s%c", used ? "/" : "", 'a' + (int)draw(seed, 5));
        if (i + 1 < depth && look(top, path).node.kind != NODE_DIR)
            return;
    }
}

static void random_node(const char *top, const char *path, unsigned int *seed)
{
    static const unsigned int modes[] = { 0644, 0600, 0755, 0444 };
    char whole[PATH_SIZE], text[60];

    below(whole, top, path);
    switch (draw(seed, 4)) {
    case 0:
        assert_int_equal(mkdir(whole, 0755), 0);
        break;
    case 1:
        snprintf(text, sizeof(text), "target-%u", draw(seed, 1000));
        assert_int_equal(symlink(text, whole), 0);
        break;
    default:
        snprintf(text, sizeof(text), "content %u", draw(seed, 100000));
        tree_write(top, path, text);
        assert_int_equal(chmod(whole, modes[draw(seed, 4)]), 0);
    }
}

void tree_random(const char *top, unsigned int *seed, unsigned int n)
{
    char path[PATH_SIZE];

    for (unsigned int i = 0; i < n; i++) {
        random_path(top, seed, path);
        if (!look(top, path).node.kind)
            random_node(top, path, seed);
    }
}

void tree_mutate(const char *top, unsigned int *seed, unsigned int n)
{
    char path[PATH_SIZE], whole[PATH_SIZE];

    for (unsigned int i = 0; i < n; i++) {
        struct node_state seen;

        random_path(top, seed, path);
        below(whole, top, path);
        seen = look(top, path);
        if (seen.node.kind == NODE_FILE && draw(seed, 3) == 0) {
            assert_int_equal(chmod(whole, draw(seed, 2) ? 0640 : 0700), 0);
        } else if (seen.node.kind == NODE_DIR && draw(seed, 4) == 0) {
            assert_int_equal(chmod(whole, draw(seed, 2) ? 0750 : 0700), 0);
        } else {
            assert_int_equal(tree_remove(AT_FDCWD, whole), 0);
            if (draw(seed, 3))
                random_node(top, path, seed);
        }
    }
}
