/* Random trees before and after, and what an overlay could hold for them: whatever of the many
 * lists it is, the changes are the differences of the two trees, path by path. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scope.h"
#include "changes/compare.h"
#include "tree_pair.h"
#include "unit.h"

/* A tree of two names and three levels: what is in place i has i's children at 2i + 2 and 2i + 3.
 * */
enum { PLACES = 14, N_KINDS = 8, ROUNDS = 250 };

struct thing {
    enum node_kind kind;
    const char *text;
    mode_t mode;
};

static const struct thing things[N_KINDS] = {
    { NODE_NONE, "", 0 },         { NODE_FILE, "one", 0644 }, { NODE_FILE, "two", 0644 },
    { NODE_FILE, "three", 0644 }, { NODE_FILE, "one", 0600 }, { NODE_LINK, "one", 0777 },
    { NODE_LINK, "b/a", 0777 },   { NODE_OTHER, "", 0644 },
};
static const struct thing dirs[] = { { NODE_DIR, "", 0755 }, { NODE_DIR, "", 0700 } };

static uint32_t seed = 4711;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % n;
}

static const char *path_of(int place, char buf[16])
{
    int levels = 1;

    for (int at = place; at >= 2; at = (at - 2) / 2)
        levels++;
    buf[2 * levels - 1] = '\0';
    for (; levels > 0; place = (place - 2) / 2) {
        levels--;
        buf[2 * levels] = (char)('a' + place % 2);
        if (levels > 0)
            buf[2 * levels - 1] = '/';
    }
    return buf;
}

static bool is_dir(const struct thing *thing)
{
    return thing->kind == NODE_DIR;
}

static void fill(const struct thing *tree[PLACES])
{
    for (int i = 0; i < PLACES; i++) {
        bool possible = i < 2 || is_dir(tree[(i - 2) / 2]);

        if (!possible)
            tree[i] = &things[0];
        else if (random_below(2))
            tree[i] = &dirs[random_below(8) == 0];
        else
            tree[i] = &things[random_below(N_KINDS)];
    }
}

/* Mostly as it was. */
static void alter(const struct thing *const before[PLACES], const struct thing *after[PLACES])
{
    const struct thing *other[PLACES];

    fill(other);
    for (int i = 0; i < PLACES; i++) {
        bool possible = i < 2 || is_dir(after[(i - 2) / 2]);

        after[i] = !possible ? &things[0] : random_below(3) ? before[i] : other[i];
    }
}

static void make_base(const struct thing *const tree[PLACES])
{
    char path[16];

    for (int i = 0; i < PLACES; i++) {
        path_of(i, path);
        if (tree[i]->kind == NODE_FILE)
            tree_file(t.base_fd, path, tree[i]->text, tree[i]->mode);
        else if (tree[i]->kind == NODE_LINK)
            make_link(t.base_fd, path, tree[i]->text);
        else if (tree[i]->kind == NODE_DIR)
            tree_dir(t.base_fd, path, tree[i]->mode);
        else if (tree[i]->kind == NODE_OTHER) {
            assert_int_equal(mkfifoat(t.base_fd, path, 0600), 0);
            assert_int_equal(fchmodat(t.base_fd, path, tree[i]->mode, 0), 0);
        }
    }
}

struct both {
    const struct thing *before[PLACES], *after[PLACES];
};

static bool is_equal(const struct thing *a, const struct thing *b)
{
    return a->kind == b->kind && a->mode == b->mode && !strcmp(a->text, b->text);
}

static bool is_equal_below(const struct both *b, int place)
{
    if (place >= PLACES)
        return true;
    return is_equal(b->before[place], b->after[place]) && is_equal_below(b, 2 * place + 2) &&
           is_equal_below(b, 2 * place + 3);
}

/* One of the lists that an overlay could have led to.  `shows`: the real directory is seen through
 * this one. */
static void take_all(const struct both *b, int first, bool shows)
{
    for (int i = first; i < first + 2 && i < PLACES; i++) {
        const struct thing *was = b->before[i], *is = b->after[i];
        bool through = shows && is_dir(was) && random_below(3) != 0;
        char path[16];

        path_of(i, path);
        if (shows && is_equal_below(b, i) && random_below(2))
            continue; /* never touched */
        if (is->kind == NODE_FILE)
            take_file(path, is->text, is->mode);
        else if (is->kind == NODE_LINK)
            take_link(path, is->text);
        else if (is->kind == NODE_OTHER)
            take_mark(COLLECT_OTHER, path, S_IFIFO | is->mode);
        else if (is->kind == NODE_NONE && (was->kind != NODE_NONE) && (shows || random_below(2)))
            take_mark(COLLECT_GONE, path, 0);
        else if (is_dir(is)) {
            take_dir(path, is->mode, through ? 0 : shows || random_below(2) ? COLLECT_OPAQUE : 0);
            take_all(b, 2 * i + 2, through);
        }
    }
}

static const char *operation(const struct thing *was, const struct thing *is)
{
    if (was->kind == NODE_NONE)
        return is->kind == NODE_NONE ? NULL : "created";
    if (is->kind == NODE_NONE)
        return "deleted";
    if (was->kind != is->kind || strcmp(was->text, is->text) != 0)
        return "modified";
    return was->mode != is->mode ? "mode" : NULL;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void assert_differences(const struct both *b)
{
    char expected[PLACES][16], lines[PLACES * 32] = "", path[16];
    size_t n = 0, len = 0;

    for (int i = 0; i < PLACES; i++)
        if (operation(b->before[i], b->after[i]))
            path_of(i, expected[n++]);
    qsort(expected, n, sizeof(expected[0]), by_text);
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < PLACES; i++)
            if (!strcmp(path_of(i, path), expected[k]))
                len += (size_t)snprintf(lines + len, sizeof(lines) - len, "%s %s\n",
                                        operation(b->before[i], b->after[i]), path);
    assert_changes(lines);
}

static void changes_are_the_differences(void **state)
{
    struct compare_input in = { .collected = &t.collected, .started_ns = INT64_MAX };
    struct both b;
    sbr_error err;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        fill(b.before);
        alter(b.before, b.after);
        make_base(b.before);
        take_all(&b, 0, true);
        in.source_fd = t.base_fd;
        assert_int_equal(compare(&in, &t.changes, &err), 0);
        assert_differences(&b);
        pair_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changes_are_the_differences, pair_set_up, pair_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
