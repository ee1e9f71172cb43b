#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "copy_fixture.h"
#include "unit.h"

#define RANDOM_ROUNDS 40

/* What most tests begin with. */
static void copy_a_tree(void)
{
    int from = cp.fds[SOURCE];

    dir_at(from, "a", 0755);
    file_at(from, "a/one", "1", 0644);
    file_at(from, "a/two", "2", 0644);
    dir_at(from, "b", 0755);
    dir_at(from, "b/deep", 0755);
    file_at(from, "b/deep/file", "content", 0644);
    link_at(from, "link", "a/one");
    file_at(from, "z", "z", 0600);
    copy_it();
}

static void nothing_done_is_no_change(void **state)
{
    (void)state;
    copy_a_tree();
    find_changes();
    assert_noted("");
}

static void only_looking_is_no_change(void **state)
{
    (void)state;
    copy_a_tree();
    assert_content_at(cp.fds[COPY], "b/deep/file", "content");
    find_changes();
    assert_noted("");
}

static void a_written_file_is_listed_with_the_way_to_it(void **state)
{
    (void)state;
    copy_a_tree();
    file_at(cp.fds[COPY], "b/deep/file", "changed", 0644); /* as long as before */
    find_changes();
    assert_noted("D b\nD b/deep\nF b/deep/file\n");
    assert_content_at(cp.fds[CONTENT], "b/deep/file", "changed");
    assert_int_equal(entry_at("b/deep/file")->size, 7);
    assert_int_equal(entry_at("b")->flags, 0);
}

static void a_time_that_was_set_back_hides_nothing(void **state)
{
    struct timespec times[2];
    struct stat st;

    (void)state;
    copy_a_tree();
    st = look_at(cp.fds[COPY], "z");
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    file_at(cp.fds[COPY], "z", "Z", 0600);
    assert_int_equal(utimensat(cp.fds[COPY], "z", times, 0), 0);
    find_changes();
    assert_noted("F z\n");
}

static void what_is_gone_is_listed_once(void **state)
{
    (void)state;
    copy_a_tree();
    remove_at(cp.fds[COPY], "b");
    remove_at(cp.fds[COPY], "a/two");
    remove_at(cp.fds[COPY], "link");
    find_changes();
    assert_noted("D a\nG a/two\nG b\nG link\n");
}

static void what_is_new_is_listed_with_all_in_it(void **state)
{
    (void)state;
    copy_a_tree();
    dir_at(cp.fds[COPY], "new", 0711);
    file_at(cp.fds[COPY], "new/file", "n", 04755);
    link_at(cp.fds[COPY], "new/link", "/etc/passwd");
    dir_at(cp.fds[COPY], "new/empty", 01777);
    find_changes();
    assert_noted("D new\nD new/empty\nF new/file\nL new/link\n");
    assert_int_equal(entry_at("new")->mode, S_IFDIR | 0711);
    assert_int_equal(entry_at("new")->flags, COLLECT_OPAQUE);
    assert_int_equal(entry_at("new/file")->mode, S_IFREG | 04755);
    assert_int_equal(look_at(cp.fds[CONTENT], "new/file").st_mode, S_IFREG | 0600);
    assert_int_equal(look_at(cp.fds[CONTENT], "new").st_mode, S_IFDIR | 0700);
    assert_int_equal(look_at(cp.fds[CONTENT], "new/link").st_mode & S_IFMT, S_IFLNK);
}

static void modes_alone_are_listed(void **state)
{
    (void)state;
    copy_a_tree();
    assert_int_equal(fchmodat(cp.fds[COPY], "a", 0700, 0), 0);
    assert_int_equal(fchmodat(cp.fds[COPY], "z", 0755, 0), 0);
    find_changes();
    assert_noted("D a\nF z\n");
    assert_int_equal(entry_at("a")->mode, S_IFDIR | 0700);
    assert_int_equal(entry_at("z")->mode, S_IFREG | 0755);
}

static void a_kind_that_changed_is_listed_as_what_it_is_now(void **state)
{
    (void)state;
    copy_a_tree();
    remove_at(cp.fds[COPY], "a");
    file_at(cp.fds[COPY], "a", "a file", 0644);
    remove_at(cp.fds[COPY], "z");
    dir_at(cp.fds[COPY], "z", 0755);
    remove_at(cp.fds[COPY], "link");
    file_at(cp.fds[COPY], "link", "was one", 0644);
    find_changes();
    assert_noted("F a\nF link\nD z\n");
    assert_int_equal(entry_at("z")->flags, COLLECT_OPAQUE);
}

static void a_directory_made_anew_is_compared_name_by_name(void **state)
{
    (void)state;
    copy_a_tree();
    remove_at(cp.fds[COPY], "a");
    dir_at(cp.fds[COPY], "a", 0755);
    file_at(cp.fds[COPY], "a/one", "1", 0644);
    find_changes();
    assert_noted("D a\nF a/one\nG a/two\n");
}

static void a_directory_that_moved_is_new_where_it_is(void **state)
{
    (void)state;
    copy_a_tree();
    assert_int_equal(renameat(cp.fds[COPY], "b", cp.fds[COPY], "a/b"), 0);
    find_changes();
    assert_noted("D a\nD a/b\nD a/b/deep\nF a/b/deep/file\nG b\n");
}

static void pipes_and_sockets_are_named_and_nobody_waits_for_them(void **state)
{
    (void)state;
    copy_a_tree();
    remove_at(cp.fds[COPY], "z");
    assert_int_equal(mkfifoat(cp.fds[COPY], "z", 0666), 0);
    assert_int_equal(mknodat(cp.fds[COPY], "a/socket", S_IFSOCK | 0666, 0), 0);
    find_changes();
    assert_noted("D a\nO a/socket\nO z\n");
}

static void modes_that_lock_us_out_are_undone(void **state)
{
    int to = cp.fds[COPY];

    (void)state;
    copy_a_tree();
    file_at(to, "a/one", "secret", 0);
    assert_int_equal(linkat(to, "a/one", to, "other", 0), 0);
    dir_at(to, "new", 0755);
    file_at(to, "new/file", "n", 0200);
    assert_int_equal(fchmodat(to, "new", 0, 0), 0);
    assert_int_equal(fchmodat(to, "b", 0100, 0), 0);
    assert_int_equal(fchmodat(to, "a", 0400, 0), 0);
    assert_int_equal(fchmod(to, 0), 0);
    find_changes();
    assert_noted("D a\nF a/one\nD b\nD new\nF new/file\nF other\n");
    assert_int_equal(entry_at("a")->mode, S_IFDIR | 0400);
    assert_int_equal(entry_at("a/one")->mode, S_IFREG);
    assert_int_equal(entry_at("other")->mode, S_IFREG); /* though we had to read it before */
    assert_int_equal(entry_at("new")->mode, S_IFDIR);
    assert_content_at(cp.fds[CONTENT], "other", "secret");
}

static void links_are_followed_by_nobody(void **state)
{
    (void)state;
    copy_a_tree();
    remove_at(cp.fds[COPY], "b");
    link_at(cp.fds[COPY], "b", cp.room);
    remove_at(cp.fds[COPY], "z");
    link_at(cp.fds[COPY], "z", "/dev/zero");
    find_changes();
    assert_noted("L b\nL z\n");
}

static void a_sparse_bomb_stays_small(void **state)
{
    scoped_fd int fd = -1;

    (void)state;
    copy_a_tree();
    fd = openat(cp.fds[COPY], "bomb", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, 4LL << 40), 0);
    find_changes();
    assert_int_equal(entry_at("bomb")->size, 4LL << 40);
    assert_int_equal(look_at(cp.fds[CONTENT], "bomb").st_blocks, 0);
}

static void directories_without_an_end_are_told(void **state)
{
    sbr_error err;
    int at;

    (void)state;
    copy_a_tree();
    at = dup(cp.fds[COPY]);
    for (int i = 0; i <= COPY_MAX_DEPTH; i++) {
        int next;

        dir_at(at, "d", 0755);
        next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    assert_refused(copy_changes(cp.fds[COPY], &cp.copied, &cp.collected, &err), &err, SBR_E_DENIED,
                   "200 directories");
}

static void what_was_left_out_is_not_deleted(void **state)
{
    (void)state;
    assert_int_equal(mkfifoat(cp.fds[SOURCE], "pipe", 0644), 0);
    assert_int_equal(mkfifoat(cp.fds[SOURCE], "taken", 0644), 0);
    copy_it();
    dir_at(cp.fds[COPY], "taken", 0755);
    find_changes();
    assert_noted("D taken\n");
    assert_int_equal(entry_at("taken")->flags, 0);
}

/* ---- at random ---- */

static const char *const names[] = { "a", "b", "c", "d", "a.b", "a b", "a\nb", "\xff", "-", "A" };

static unsigned int pick(unsigned int *seed, unsigned int n)
{
    return (unsigned int)rand_r(seed) % n;
}

/* A path of one to three names. */
static void random_path(unsigned int *seed, char path[32])
{
    size_t len = 0;

    for (unsigned int parts = 1 + pick(seed, 3); parts > 0; parts--)
        len += (size_t)snprintf(path + len, 32 - len, "%s%s", len ? "/" : "",
                                names[pick(seed, ARRAY_LEN(names))]);
}

/* One thing that may fail, as much of what programs try does. */
static void mutate(unsigned int *seed, int at)
{
    static const mode_t modes[] = { 0644, 0755, 0600, 0700, 0777, 02755 };
    mode_t mode = modes[pick(seed, ARRAY_LEN(modes))];
    char path[32], other[32];
    int fd, done = 0;

    random_path(seed, path);
    random_path(seed, other);
    switch (pick(seed, 9)) {
    case 0:
    case 1:
        fd = openat(at, path, O_WRONLY | O_CREAT | (pick(seed, 2) ? O_TRUNC : O_APPEND) | O_CLOEXEC,
                    mode);
        if (fd >= 0) {
            done = write(fd, other, 1 + pick(seed, 3)) < 0;
            close(fd);
        }
        break;
    case 2:
    case 3:
        done = mkdirat(at, path, mode | 0700); /* others are opened when they are read */
        break;
    case 4:
        done = symlinkat(other, at, path);
        break;
    case 5:
        done = renameat(at, path, at, other);
        break;
    case 6:
        done = fchmodat(at, path, mode | 0700, AT_SYMLINK_NOFOLLOW);
        break;
    case 7:
        done = linkat(at, path, at, other, 0);
        break;
    default:
        done = tree_remove(at, path);
    }
    (void)done;
}

static void whatever_happens_the_list_says_it(void **state)
{
    sbr_error err;

    (void)state;
    for (unsigned int round = 1; round <= RANDOM_ROUNDS; round++) {
        unsigned int seed = round;
        struct copied second;

        for (int i = 0; i < 60; i++)
            mutate(&seed, cp.fds[SOURCE]);
        copy_it();
        assert_int_equal(copy_tree(cp.fds[SOURCE], cp.fds[SECOND], NULL, &second, &err), 0);
        copy_done(&second);
        for (unsigned int i = 0, n = pick(&seed, 40); i < n; i++)
            mutate(&seed, cp.fds[COPY]);
        find_changes();
        apply_taken(SECOND);
        assert_same_trees(cp.fds[COPY], cp.fds[SECOND]);
        copy_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COPY_TEST(nothing_done_is_no_change),
        COPY_TEST(only_looking_is_no_change),
        COPY_TEST(a_written_file_is_listed_with_the_way_to_it),
        COPY_TEST(a_time_that_was_set_back_hides_nothing),
        COPY_TEST(what_is_gone_is_listed_once),
        COPY_TEST(what_is_new_is_listed_with_all_in_it),
        COPY_TEST(modes_alone_are_listed),
        COPY_TEST(a_kind_that_changed_is_listed_as_what_it_is_now),
        COPY_TEST(a_directory_made_anew_is_compared_name_by_name),
        COPY_TEST(a_directory_that_moved_is_new_where_it_is),
        COPY_TEST(pipes_and_sockets_are_named_and_nobody_waits_for_them),
        COPY_TEST(modes_that_lock_us_out_are_undone),
        COPY_TEST(links_are_followed_by_nobody),
        COPY_TEST(a_sparse_bomb_stays_small),
        COPY_TEST(directories_without_an_end_are_told),
        COPY_TEST(what_was_left_out_is_not_deleted),
        COPY_TEST(whatever_happens_the_list_says_it),
        cmocka_unit_test(as_an_ordinary_user_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
