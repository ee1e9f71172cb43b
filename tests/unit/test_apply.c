#include "changes/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "tree_fixture.h"
#include "unit.h"

#define ROUNDS 40
#define MAX_STEPS 2000

/* Everything that can happen to a path. */
static const char before[] =
    "f edited 644 old\nf gone 644 x\nd dir 755\nf dir/inner 644 x\nd todir 755\n"
    "f tofile 644 x\nl link one\nf mode 644 x\nd goes 755\nd goes/deep 755\n"
    "f goes/deep/x 600 x\nf stays 644 s\nd keepdir 755\nf dirlink 600 x\n";
static const char after[] =
    "f edited 640 new\nf dir 644 f\nf todir 600 y\nd tofile 755\n"
    "f tofile/z 755 z\nl link two\nf mode 755 x\nf stays 644 s\nd keepdir 711\n"
    "f keepdir/new 444 n\nd new 700\nd new/er 555\nl dirlink stays\n";

static struct tree_place place;

static int make_place(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    unsetenv("SANDBOX_RUN_TEST_APPLY");
    tree_place_remove(&place);
    return 0;
}

/* What makes `a` into `b` is kept; `b` loses its modes. */
static void keep(char id[ENCODING_ID_SIZE])
{
    struct changes changes = { 0 };
    struct output_files files = { 0 };
    struct staging staging;
    char contents[STATE_PATH_SIZE + 16];
    sbr_error err = { 0 };

    if (staging_open(&staging, &err) < 0)
        fail_msg("%s", err.message);
    memcpy(id, staging.id, ENCODING_ID_SIZE);
    assert_int_equal(mkdirat(staging.fd, "tree", 0700), 0);
    assert_int_equal(mkdirat(staging.fd, "tree/0", 0700), 0);
    snprintf(contents, sizeof(contents), "%s/tree/0", staging.path);
    tree_changes(tree_at(&place, "a"), tree_at(&place, "b"), &changes);
    tree_contents(tree_at(&place, "b"), &changes, contents);
    if (changeset_commit(&staging, &changes, &files, "a test", &err) < 0)
        fail_msg("%s", err.message);
    changes_done(&changes);
}

typedef int act_fn(struct changeset *, const struct apply_options *, struct apply_report *,
                   sbr_error *);

static int act(act_fn *action, const char *id, const struct apply_options *options,
               struct apply_report *report, sbr_error *err)
{
    const struct apply_options none = { .flags = APPLY_EXECUTED };
    struct changeset changeset;
    int r;

    *report = (struct apply_report){ 0 };
    *err = (sbr_error){ 0 };
    r = changeset_open(id, &changeset, err);
    if (r < 0)
        return r;
    r = action(&changeset, options ? options : &none, report, err);
    changeset_close(&changeset);
    return r;
}

static void act_well(act_fn *action, const char *id, const struct apply_options *options)
{
    struct apply_report report;
    sbr_error err;

    if (act(action, id, options, &report, &err) < 0)
        fail_msg("%s (%s: %s)", err.message,
                 report.conflicts.n ? report.conflicts.items[0].path : "",
                 report.conflicts.n ? report.conflicts.items[0].why : "");
    apply_report_done(&report);
}

static void assert_tree(const char *name, const char *expected)
{
    char *got = tree_tell(tree_at(&place, name), true);

    assert_string_equal(got, expected);
    free(got);
}

static void assert_conflict(const char *id, const struct apply_options *options, const char *path,
                            const char *why)
{
    struct apply_report report;
    sbr_error err;
    char *was = tree_tell(tree_at(&place, "a"), true);

    assert_refused(act(apply, id, options, &report, &err), &err, SBR_E_DENIED, "conflict");
    assert_int_equal(report.conflicts.n, 1);
    assert_string_equal(report.conflicts.items[0].path, path);
    assert_non_null(strstr(report.conflicts.items[0].why, why));
    apply_report_done(&report);
    assert_tree("a", was);
    free(was);
}

static void what_was_kept_is_applied_and_undone(void **state)
{
    char id[ENCODING_ID_SIZE], *old, *new;

    (void)state;
    tree_make(tree_at(&place, "a"), before);
    tree_make(tree_at(&place, "b"), after);
    old = tree_tell(tree_at(&place, "a"), true);
    keep(id);
    act_well(apply, id, NULL);
    new = tree_tell(tree_at(&place, "a"), false);
    assert_non_null(strstr(new, "f edited 640 new\n"));
    assert_non_null(strstr(new, "d new/er 555\n"));
    free(new);
    new = tree_tell(tree_at(&place, "a"), true);
    act_well(apply, id, NULL); /* once more: nothing is left to do */
    assert_tree("a", new);
    act_well(apply_undo, id, NULL);
    assert_tree("a", old);
    act_well(apply, id, NULL);
    assert_tree("a", new);
    act_well(apply_undo, id, NULL);
    assert_tree("a", old);
    free(old);
    free(new);
}

static void nothing_is_left_to_undo_twice(void **state)
{
    struct apply_report report;
    char id[ENCODING_ID_SIZE];
    sbr_error err;

    (void)state;
    tree_make(tree_at(&place, "b"), "f x 644 1\n");
    keep(id);
    assert_refused(act(apply_undo, id, NULL, &report, &err), &err, SBR_E_NOT_FOUND, "nothing");
    act_well(apply, id, NULL);
    act_well(apply_undo, id, NULL);
    assert_refused(act(apply_undo, id, NULL, &report, &err), &err, SBR_E_NOT_FOUND, "nothing");
}

static void random_trees_are_applied_and_undone(void **state)
{
    for (unsigned int round = 0; round < ROUNDS; round++) {
        unsigned int seed = round * 104729 + 3;
        char id[ENCODING_ID_SIZE], *old, *new;

        remove_place(state);
        make_place(state);
        tree_random(tree_at(&place, "a"), &seed, 40);
        tree_copy(tree_at(&place, "a"), tree_at(&place, "b"));
        tree_mutate(tree_at(&place, "b"), &seed, 25);
        old = tree_tell(tree_at(&place, "a"), true);
        new = tree_tell(tree_at(&place, "b"), true);
        keep(id);
        act_well(apply, id, NULL);
        assert_tree("a", new);
        act_well(apply_undo, id, NULL);
        assert_tree("a", old);
        free(old);
        free(new);
    }
}

static void a_part_can_be_applied_and_the_rest_later(void **state)
{
    const char *first[] = { "new/er/file" }, *second[] = { "edited" };
    const struct apply_options one = { .paths = first, .n_paths = 1 };
    const struct apply_options two = { .paths = second, .n_paths = 1 };
    char id[ENCODING_ID_SIZE], *old, *got;

    (void)state;
    tree_make(tree_at(&place, "a"), "f edited 644 old\nf gone 644 x\n");
    tree_make(tree_at(&place, "b"), "f edited 644 new\nd new 755\nd new/er 755\n"
                                    "f new/er/file 644 x\nf new/other 644 y\n");
    old = tree_tell(tree_at(&place, "a"), true);
    keep(id);
    act_well(apply, id, &one);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "f edited 644 old\nf gone 644 x\nd new 755\nd new/er 755\n"
                             "f new/er/file 644 x\n");
    free(got);
    act_well(apply, id, &two);
    act_well(apply, id, NULL);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "f edited 644 new\nd new 755\nd new/er 755\n"
                             "f new/er/file 644 x\nf new/other 644 y\n");
    free(got);
    act_well(apply_undo, id, &two);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_non_null(strstr(got, "f edited 644 old\nd new 755"));
    free(got);
    act_well(apply_undo, id, NULL);
    assert_tree("a", old);
    free(old);
}

static void a_path_that_is_no_change_is_named(void **state)
{
    const char *paths[] = { "edite" };
    const struct apply_options options = { .paths = paths, .n_paths = 1 };
    struct apply_report report;
    char id[ENCODING_ID_SIZE];
    sbr_error err;

    (void)state;
    tree_make(tree_at(&place, "b"), "f edited 644 new\n");
    keep(id);
    assert_refused(act(apply, id, &options, &report, &err), &err, SBR_E_NOT_FOUND, "'edite'");
}

static void what_changed_since_is_a_conflict_and_can_be_forced(void **state)
{
    const char *force[] = { "edited" };
    const struct apply_options options = { .force = force, .n_force = 1 };
    char id[ENCODING_ID_SIZE], *mine, *got;

    (void)state;
    tree_make(tree_at(&place, "a"), "f edited 644 old\nf other 644 o\n");
    tree_make(tree_at(&place, "b"), "f edited 644 new\nf other 644 p\n");
    keep(id);
    tree_write(tree_at(&place, "a"), "edited", "mine");
    mine = tree_tell(tree_at(&place, "a"), true);
    assert_conflict(id, NULL, "edited", "changed since");
    act_well(apply, id, &options);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "f edited 644 new\nf other 644 p\n");
    free(got);
    act_well(apply_undo, id, NULL); /* to what was there, not to what the program saw */
    assert_tree("a", mine);
    free(mine);
}

static void a_touched_file_with_the_same_content_is_no_conflict(void **state)
{
    char id[ENCODING_ID_SIZE], *got;

    (void)state;
    tree_make(tree_at(&place, "a"), "f edited 644 old\n");
    tree_make(tree_at(&place, "b"), "f edited 644 new\n");
    keep(id);
    assert_int_equal(unlinkat(place.top_fd, "a/edited", 0), 0);
    tree_write(tree_at(&place, "a"), "edited", "old");
    act_well(apply, id, NULL);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "f edited 644 new\n");
    free(got);
}

static void what_came_since_is_in_the_way(void **state)
{
    char id[ENCODING_ID_SIZE];

    (void)state;
    tree_make(tree_at(&place, "a"), "d goes 755\nf goes/x 644 x\n");
    tree_make(tree_at(&place, "b"), "f new 644 new\n");
    keep(id);
    tree_write(tree_at(&place, "a"), "new", "mine");
    assert_conflict(id, NULL, "new", "there already");
    assert_int_equal(unlinkat(place.top_fd, "a/new", 0), 0);
    tree_write(tree_at(&place, "a"), "goes/y", "mine");
    assert_conflict(id, NULL, "goes", "came since");
    assert_int_equal(unlinkat(place.top_fd, "a/goes/y", 0), 0);
    tree_write(tree_at(&place, "a"), "new", "new"); /* the same: done already */
    act_well(apply, id, NULL);
}

static void links_do_not_lead_out(void **state)
{
    static const char *const out[] = { "/etc/passwd", "../x",   "d/../../x",
                                       "d/..",        "mine/x", "d/../x" };
    static const char *const in[] = { "x", "d/x", "./d", "nowhere/at/all" };
    const char *force[] = { "l" };
    const struct apply_options options = { .force = force, .n_force = 1 };

    for (size_t i = 0; i < ARRAY_LEN(out) + ARRAY_LEN(in); i++) {
        char id[ENCODING_ID_SIZE], line[60];
        bool leads_out = i < ARRAY_LEN(out);

        remove_place(state);
        make_place(state);
        tree_make(tree_at(&place, "a"), "d d 755\nl mine /etc\n");
        tree_make(tree_at(&place, "b"), "d d 755\nl mine /etc\n");
        snprintf(line, sizeof(line), "l l %s\n", leads_out ? out[i] : in[i - ARRAY_LEN(out)]);
        tree_make(tree_at(&place, "b"), line);
        keep(id);
        if (leads_out)
            assert_conflict(id, NULL, "l", "leads out");
        act_well(apply, id, leads_out ? &options : NULL);
    }
}

static void a_directory_that_became_a_link_is_not_followed(void **state)
{
    const char *force[] = { "d/x" };
    const struct apply_options options = { .force = force, .n_force = 1 };
    char id[ENCODING_ID_SIZE], *got;

    (void)state;
    tree_make(tree_at(&place, "a"), "d d 755\nf d/x 644 old\n");
    tree_make(tree_at(&place, "b"), "d d 755\nf d/x 644 new\n");
    keep(id);
    assert_int_equal(mkdirat(place.top_fd, "outside", 0755), 0);
    tree_write(tree_at(&place, "outside"), "x", "old");
    assert_int_equal(tree_remove(place.top_fd, "a/d"), 0);
    assert_int_equal(symlinkat(tree_at(&place, "outside"), place.top_fd, "a/d"), 0);
    assert_conflict(id, NULL, "d/x", "behind a link");
    assert_conflict(id, &options, "d/x", "behind a link"); /* nor by force */
    got = tree_tell(tree_at(&place, "outside"), false);
    assert_string_equal(got, "f x 644 old\n");
    free(got);
}

static void bits_to_become_somebody_else_are_never_gained(void **state)
{
    char id[ENCODING_ID_SIZE], *got;

    (void)state;
    tree_make(tree_at(&place, "a"), "f had 4755 x\nf edited 4755 x\nf mode 755 x\nd d 755\n");
    tree_make(tree_at(&place, "b"), "f had 4700 x\nf edited 4755 y\nf mode 6755 x\nf new 6755 n\n"
                                    "d newdir 3755\nd d 3755\n");
    keep(id);
    act_well(apply, id, NULL);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "d d 755\nf edited 755 y\nf had 4700 x\nf mode 755 x\nf new 755 n\n"
                             "d newdir 755\n");
    free(got);
    act_well(apply_undo, id, NULL);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "d d 755\nf edited 4755 x\nf had 4755 x\nf mode 755 x\n");
    free(got);
}

static void owners_stay(void **state)
{
    char id[ENCODING_ID_SIZE];
    struct stat st;

    (void)state;
    if (geteuid() != 0)
        skip();
    tree_make(tree_at(&place, "a"), "f edited 644 old\nd d 755\n");
    tree_make(tree_at(&place, "b"), "f edited 644 new\nd d 755\nf d/new 644 x\nd d/e 755\n");
    assert_int_equal(fchownat(place.top_fd, "a/edited", 1234, 2345, 0), 0);
    assert_int_equal(fchownat(place.top_fd, "a/d", 3456, 4567, 0), 0);
    keep(id);
    act_well(apply, id, NULL);
    assert_int_equal(fstatat(place.top_fd, "a/edited", &st, 0), 0);
    assert_int_equal(st.st_uid, 1234);
    assert_int_equal(st.st_gid, 2345);
    for (const char *const *p = (const char *const[]){ "a/d/new", "a/d/e", NULL }; *p; p++) {
        assert_int_equal(fstatat(place.top_fd, *p, &st, 0), 0);
        assert_int_equal(st.st_uid, 3456);
        assert_int_equal(st.st_gid, 4567);
    }
    act_well(apply_undo, id, NULL);
    assert_int_equal(fstatat(place.top_fd, "a/edited", &st, 0), 0);
    assert_int_equal(st.st_uid, 1234);
}

static void attributes_stay_but_no_capabilities(void **state)
{
    const char capability[20] = { 1, 0, 0, 2, 1 }; /* VFS_CAP_REVISION_2, effective */
    char id[ENCODING_ID_SIZE], value[20] = "";

    (void)state;
    tree_make(tree_at(&place, "a"), "f edited 644 old\n");
    tree_make(tree_at(&place, "b"), "f edited 644 new\n");
    keep(id);
    if (setxattr(tree_at(&place, "a/edited"), "user.note", "mine", 4, 0) < 0)
        skip(); /* a file system without */
    (void)setxattr(tree_at(&place, "a/edited"), "security.capability", capability, 20, 0);
    act_well(apply, id, NULL);
    assert_int_equal(getxattr(tree_at(&place, "a/edited"), "user.note", value, sizeof(value)), 4);
    assert_memory_equal(value, "mine", 4);
    assert_int_equal(getxattr(tree_at(&place, "a/edited"), "security.capability", NULL, 0), -1);
    act_well(apply_undo, id, NULL);
    assert_int_equal(getxattr(tree_at(&place, "a/edited"), "user.note", value, sizeof(value)), 4);
}

static void what_was_edited_after_apply_is_not_undone(void **state)
{
    const char *force[] = { "edited" };
    const struct apply_options options = { .force = force, .n_force = 1 };
    struct apply_report report;
    char id[ENCODING_ID_SIZE], *old;
    sbr_error err;

    (void)state;
    tree_make(tree_at(&place, "a"), "f edited 644 old\nf gone 644 g\n");
    tree_make(tree_at(&place, "b"), "f edited 644 new\nd made 755\nf made/x 644 x\n");
    old = tree_tell(tree_at(&place, "a"), true);
    keep(id);
    act_well(apply, id, NULL);
    tree_write(tree_at(&place, "a"), "edited", "newer");
    assert_refused(act(apply_undo, id, NULL, &report, &err), &err, SBR_E_DENIED, "changed since");
    assert_int_equal(report.conflicts.n, 1);
    assert_string_equal(report.conflicts.items[0].path, "edited");
    apply_report_done(&report);
    act_well(apply_undo, id, &options);
    assert_tree("a", old);
    free(old);
}

static void a_directory_that_others_use_stays(void **state)
{
    char id[ENCODING_ID_SIZE], *got;

    (void)state;
    tree_make(tree_at(&place, "b"), "d made 755\nf made/x 644 x\n");
    keep(id);
    act_well(apply, id, NULL);
    tree_write(tree_at(&place, "a"), "made/mine", "m");
    act_well(apply_undo, id, NULL);
    got = tree_tell(tree_at(&place, "a"), false);
    assert_string_equal(got, "d made 755\nf made/mine 644 m\n");
    free(got);
}

#ifdef SBR_TEST_HOOKS
/* Does it in a process that ends before the `last`-th call that changes something; false when it
 * got through. */
static bool is_killed(act_fn *action, const char *id, int last)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct apply_report report;
        char text[16];
        sbr_error err;

        snprintf(text, sizeof(text), "%d", last);
        setenv("SANDBOX_RUN_TEST_APPLY", text, 1);
        _exit(act(action, id, NULL, &report, &err) < 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

/* Each line of a tree is one of the old or of the new; but for directories, whose modes are set
 * last. */
static void assert_old_or_new(const char *old, const char *new)
{
    char *got = tree_tell(tree_at(&place, "a"), true), *save = NULL;

    for (char *line = strtok_r(got, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char whole[400];

        snprintf(whole, sizeof(whole), "%s\n", line);
        if (line[0] == 'd' || strstr(line, ".sandbox-run-"))
            continue;
        if (!strstr(old, whole) && !strstr(new, whole))
            fail_msg("half a file: %s", line);
    }
    free(got);
    for (const char *const *p = (const char *const[]){ "a/edited", "a/link", "a/mode", "a/stays",
                                                       "a/tofile", "a/keepdir", NULL };
         *p; p++)
        assert_int_equal(faccessat(place.top_fd, *p, F_OK, AT_SYMLINK_NOFOLLOW), 0);
}

static void make_both(char id[ENCODING_ID_SIZE])
{
    assert_int_equal(tree_remove(place.top_fd, "a"), 0);
    assert_int_equal(tree_remove(place.top_fd, "b"), 0);
    assert_int_equal(mkdirat(place.top_fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place.top_fd, "b", 0755), 0);
    tree_make(tree_at(&place, "a"), before);
    tree_make(tree_at(&place, "b"), after);
    keep(id);
}

static void whoever_is_killed_can_repeat_or_undo(void **state)
{
    int last = 0;
    bool killed = true;

    (void)state;
    while (killed && ++last < MAX_STEPS) {
        char id[ENCODING_ID_SIZE], *old, *new;

        make_both(id);
        old = tree_tell(tree_at(&place, "a"), true);
        act_well(apply, id, NULL);
        new = tree_tell(tree_at(&place, "a"), true);
        act_well(apply_undo, id, NULL);
        assert_tree("a", old);

        killed = is_killed(apply, id, last);
        assert_old_or_new(old, new);
        act_well(apply, id, NULL);
        assert_tree("a", new);
        act_well(apply_undo, id, NULL);
        assert_tree("a", old);

        (void)is_killed(apply, id, last); /* and undone instead of repeated */
        {
            struct apply_report report;
            sbr_error err;

            if (act(apply_undo, id, NULL, &report, &err) < 0 && err.code != SBR_E_NOT_FOUND)
                fail_msg("step %d: %s %s", last, err.message,
                         report.conflicts.n ? report.conflicts.items[0].path : "");
            apply_report_done(&report);
        }
        assert_tree("a", old);
        free(old);
        free(new);
    }
    assert_in_range(last, 40, MAX_STEPS - 1);
}

static void an_undo_that_is_killed_can_be_repeated(void **state)
{
    int last = 0;
    bool killed = true;

    (void)state;
    while (killed && ++last < MAX_STEPS) {
        struct apply_report report;
        char id[ENCODING_ID_SIZE], *old, *new;
        sbr_error err;

        make_both(id);
        old = tree_tell(tree_at(&place, "a"), true);
        act_well(apply, id, NULL);
        new = tree_tell(tree_at(&place, "a"), true);
        killed = is_killed(apply_undo, id, last);
        assert_old_or_new(old, new);
        if (act(apply_undo, id, NULL, &report, &err) < 0 && err.code != SBR_E_NOT_FOUND)
            fail_msg("step %d: %s %s", last, err.message,
                     report.conflicts.n ? report.conflicts.items[0].path : "");
        apply_report_done(&report);
        assert_tree("a", old);
        act_well(apply, id, NULL);
        (void)is_killed(apply_undo, id, last); /* and applied again instead */
        act_well(apply, id, NULL);
        assert_tree("a", new);
        free(old);
        free(new);
    }
    assert_in_range(last, 20, MAX_STEPS - 1);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_kept_is_applied_and_undone),
        TEST(nothing_is_left_to_undo_twice),
        TEST(random_trees_are_applied_and_undone),
        TEST(a_part_can_be_applied_and_the_rest_later),
        TEST(a_path_that_is_no_change_is_named),
        TEST(what_changed_since_is_a_conflict_and_can_be_forced),
        TEST(a_touched_file_with_the_same_content_is_no_conflict),
        TEST(what_came_since_is_in_the_way),
        TEST(links_do_not_lead_out),
        TEST(a_directory_that_became_a_link_is_not_followed),
        TEST(bits_to_become_somebody_else_are_never_gained),
        TEST(owners_stay),
        TEST(attributes_stay_but_no_capabilities),
        TEST(what_was_edited_after_apply_is_not_undone),
        TEST(a_directory_that_others_use_stays),
#ifdef SBR_TEST_HOOKS
        TEST(whoever_is_killed_can_repeat_or_undo),
        TEST(an_undo_that_is_killed_can_be_repeated),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
