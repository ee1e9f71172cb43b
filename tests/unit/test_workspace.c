/* Work directories with a name: made, locked, saved, counted, listed, removed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "model/limits.h"
#include "tree_fixture.h"
#include "unit.h"
#include "workspace/workspace.h"

static struct tree_place place;
static const struct workspace_quota no_quota;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_place_remove(&place);
    return 0;
}

static void open_it(const char *name, struct workspace_quota quota, struct workspace *ret)
{
    sbr_error err = { 0 };
    int r = workspace_open(name, true, quota, ret, &err);

    if (r != 1)
        fail_msg("%d: %s", r, err.message);
}

/* The changes that make the tree into `wanted` (a directory of the place), and their contents. */
static void gather(const struct workspace *workspace, const char *wanted, struct staging *staging,
                   struct changes *changes)
{
    char contents[1300];
    sbr_error err = { 0 };

    *changes = (struct changes){ 0 };
    assert_int_equal(tree_remove(place.top_fd, "scratch"), 0);
    assert_int_equal(mkdirat(place.top_fd, "scratch", 0700), 0);
    tree_copy(tree_at(&place, wanted), tree_at(&place, "scratch"));
    assert_int_equal(staging_open(staging, &err), 0);
    assert_int_equal(mkdirat(staging->fd, "tree", 0700), 0);
    assert_int_equal(mkdirat(staging->fd, "tree/0", 0700), 0);
    snprintf(contents, sizeof(contents), "%s/tree/0", staging->path);
    tree_changes(workspace->tree, tree_at(&place, "scratch"), changes);
    tree_contents(tree_at(&place, "scratch"), changes, contents); /* which uses it up */
}

static int save(struct workspace *workspace, const char *wanted, sbr_error *err)
{
    struct changes changes;
    struct staging staging;
    int r;

    gather(workspace, wanted, &staging, &changes);
    r = workspace_save(workspace, &staging, &changes, err);
    assert_int_equal(staging.fd, -1);
    changes_done(&changes);
    return r;
}

static void assert_save(struct workspace *workspace, const char *wanted)
{
    char *told, *expected = tree_tell(tree_at(&place, wanted), true);
    sbr_error err = { 0 };

    if (save(workspace, wanted, &err) < 0)
        fail_msg("%s", err.message);
    told = tree_tell(workspace->tree, true);
    assert_string_equal(told, expected);
    free(told);
    free(expected);
}

static void what_is_saved_is_there_again(void **state)
{
    struct workspace workspace;

    (void)state;
    open_it("demo", no_quota, &workspace);
    assert_int_equal(workspace.info.quota_bytes, limit_defs[SBR_DISK_BYTES].preset);
    assert_int_equal(workspace.info.quota_inodes, limit_defs[SBR_INODES].preset);
    assert_int_equal(workspace.info.owner, geteuid());
    tree_make(tree_at(&place, "a"), "d d 755\nf d/x 640 one\nl l /etc\nf run 755 x\n");
    assert_save(&workspace, "a");
    assert_int_equal(workspace.info.used_inodes, 4);
    assert_int_equal(workspace.info.used_bytes, 2 * 4096);
    workspace_close(&workspace);

    open_it("demo", no_quota, &workspace);
    assert_int_equal(workspace.info.used_inodes, 4);
    tree_make(tree_at(&place, "b"), "d d 700\nf d/y 640 two\nf run 4755 longer\n");
    assert_int_equal(fchmodat(place.top_fd, "b/run", 0755, 0), 0);
    assert_save(&workspace, "b");
    assert_int_equal(workspace.info.used_inodes, 3);
    workspace_close(&workspace);
}

/* As a user, changes below directories that lock even their owner out. */
static void locked_directories_are_opened_meanwhile(void **state)
{
    struct workspace workspace;
    struct stat st;

    (void)state;
    open_it("demo", no_quota, &workspace);
    tree_make(tree_at(&place, "a"), "d d 700\nd d/e 700\nf d/e/x 640 one\nd o 700\n");
    assert_save(&workspace, "a");
    assert_int_equal(fchmodat(workspace.tree_fd, "d/e", 0, 0), 0);
    assert_int_equal(fchmodat(workspace.tree_fd, "d", 0100, 0), 0);
    struct changes changes = { 0 };
    struct staging staging;
    sbr_error err = { 0 };
    struct change change = { .op = CHANGE_MODIFIED,
                             .path = strdup("d/e/x"),
                             .now = { NODE_FILE, 0600, 3, 0 },
                             .base = { NODE_FILE, 0640, 3, 0 } };
    assert_int_equal(changes_add_root(&changes, workspace.tree, "/work", &err), 0);
    assert_int_equal(changes_add(&changes, &change, &err), 0);
    assert_int_equal(staging_open(&staging, &err), 0);
    assert_int_equal(mkdirat(staging.fd, "tree", 0700), 0);
    assert_int_equal(mkdirat(staging.fd, "tree/0", 0700), 0);
    assert_int_equal(mkdirat(staging.fd, "tree/0/d", 0700), 0);
    assert_int_equal(mkdirat(staging.fd, "tree/0/d/e", 0700), 0);
    tree_write(staging.path, "tree/0/d/e/x", "two");
    if (workspace_save(&workspace, &staging, &changes, &err) < 0)
        fail_msg("%s", err.message);
    changes_done(&changes);
    assert_int_equal(fstatat(workspace.tree_fd, "d", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0100);
    assert_int_equal(fchmodat(workspace.tree_fd, "d", 0700, 0), 0);
    assert_int_equal(fstatat(workspace.tree_fd, "d/e", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0);
    assert_int_equal(fchmodat(workspace.tree_fd, "d/e", 0700, 0), 0);
    assert_int_equal(fstatat(workspace.tree_fd, "d/e/x", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    workspace_close(&workspace);
}

static void one_at_a_time(void **state)
{
    struct workspace workspace, other;
    struct workspace_export opened;
    sbr_error err = { 0 };

    (void)state;
    open_it("demo", no_quota, &workspace);
    assert_int_equal(workspace_open("demo", true, no_quota, &other, &err), WORKSPACE_BUSY);
    assert_refused(workspace_remove("demo", &err), &err, SBR_E_BUSY, "in use");
    assert_refused(workspace_export_begin("demo", &opened, &err), &err, SBR_E_BUSY, "in use");
    open_it("demo2", no_quota, &other);
    workspace_close(&other);
    workspace_close(&workspace);
    assert_int_equal(workspace_remove("demo", &err), 0);
    assert_refused(workspace_open("demo", false, no_quota, &workspace, &err), &err, SBR_E_NOT_FOUND,
                   "there is no workspace 'demo'");
    assert_refused(workspace_remove("demo", &err), &err, SBR_E_NOT_FOUND, "there is no workspace");
}

static void names_are_checked(void **state)
{
    static const char *const bad[] = { "",
                                       ".",
                                       "..",
                                       ".x",
                                       "-x",
                                       "a/b",
                                       "a b",
                                       "\xc3\xb6",
                                       "a\n",
                                       ("0123456789012345678901234567890123456789012345678901234567"
                                        "8901234") };
    struct workspace workspace;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_refused(workspace_open(bad[i], true, no_quota, &workspace, &err), &err,
                       SBR_E_INVALID, "cannot be the name");
        assert_refused(workspace_remove(bad[i], &err), &err, SBR_E_INVALID, "cannot be the name");
    }
    open_it("A.b_c-9", no_quota, &workspace);
    workspace_close(&workspace);
}

/* More than the few that a run's own bounds may let through. */
static void make_many(const char *top)
{
    char line[40];

    for (int i = 0; i < 300; i++) {
        snprintf(line, sizeof(line), "f many%d 644 x\n", i);
        tree_make(top, line);
    }
}

static void quotas_are_set_and_hold(void **state)
{
    struct workspace workspace;
    sbr_error err = { 0 };

    (void)state;
    open_it("demo", (struct workspace_quota){ .bytes = 2 * 4096, .inodes = 3 }, &workspace);
    tree_make(tree_at(&place, "a"), "f one 644 x\nf two 644 x\n");
    assert_save(&workspace, "a");
    make_many(tree_at(&place, "b"));
    assert_refused(save(&workspace, "b", &err), &err, SBR_E_INVALID, "--inodes");
    workspace_close(&workspace);
    assert_refused(workspace_open("demo", true, (struct workspace_quota){ .bytes = 4096 },
                                  &workspace, &err),
                   &err, SBR_E_INVALID, "--disk");
    open_it("demo", (struct workspace_quota){ .inodes = 1000 }, &workspace);
    assert_int_equal(workspace.info.quota_bytes, 2 * 4096);
    assert_int_equal(workspace.info.used_inodes, 2);
    assert_refused(save(&workspace, "b", &err), &err, SBR_E_INVALID, "--disk");
    workspace_close(&workspace);
    open_it("demo", (struct workspace_quota){ .bytes = 300 * 4096 }, &workspace);
    assert_save(&workspace, "b");
    assert_int_equal(workspace.info.used_bytes, 300 * 4096);
    assert_int_equal(workspace.info.used_inodes, 300);
    workspace_close(&workspace);
}

#ifdef SBR_TEST_HOOKS
/* The status of a process that does it.  What counts the steps looks at the environment once in its
 * life. */
static int in_a_process(int (*act)(const void *context), const void *context)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(act(context));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

struct killing {
    const char *wanted;
    int step;
};

static int save_and_die(const void *context)
{
    const struct killing *killing = context;
    struct changes changes;
    struct staging staging;
    struct workspace workspace;
    char number[12];
    sbr_error err = { 0 };

    snprintf(number, sizeof(number), "%d", killing->step);
    setenv("SANDBOX_RUN_TEST_APPLY", number, 1);
    open_it("demo", no_quota, &workspace);
    gather(&workspace, killing->wanted, &staging, &changes);
    return workspace_save(&workspace, &staging, &changes, &err) == 0 ? 0 : 1;
}

enum { OLD = 3, NEW, NEITHER };

static int look(const void *context)
{
    const char *const *texts = context;
    struct workspace workspace;
    char *told;

    open_it("demo", no_quota, &workspace);
    told = tree_tell(workspace.tree, false);
    if (faccessat(workspace.dir_fd, "pending", F_OK, 0) == 0)
        return NEITHER;
    if (strcmp(told, texts[0]) == 0 && workspace.info.used_inodes == 5)
        return OLD;
    return strcmp(told, texts[1]) == 0 && workspace.info.used_inodes == 6 ? NEW : NEITHER;
}

static void whoever_is_killed_leaves_the_old_or_the_new(void **state)
{
    struct killing killing = { "b", 0 }, none = { "a", 0 };
    char *texts[2];
    int status, found = 0, last = OLD;

    (void)state;
    tree_make(tree_at(&place, "a"), "d d 755\nf d/x 644 old\nf gone 644 x\nf f 644 old\nl l old\n");
    tree_make(tree_at(&place, "b"), "d d 700\nf d/x 755 newer\nf f 644 new\nl l new\nd e 755\n"
                                    "f e/n 644 n\n");
    texts[0] = tree_tell(tree_at(&place, "a"), false);
    texts[1] = tree_tell(tree_at(&place, "b"), false);
    for (;; last = found) {
        assert_int_equal(in_a_process(save_and_die, &none), 0);
        killing.step++;
        status = in_a_process(save_and_die, &killing);
        if (!WIFSIGNALED(status))
            break;
        status = in_a_process(look, texts);
        assert_true(WIFEXITED(status));
        found = WEXITSTATUS(status);
        assert_true(found == NEW || (found == OLD && last == OLD));
    }
    assert_int_equal(status, 0);
    assert_int_equal(last, NEW);
    assert_true(killing.step > 8);
    free(texts[0]);
    free(texts[1]);
}
#endif

struct seen_infos {
    struct workspace_info v[4];
    size_t n;
};

static int see(void *context, const struct workspace_info *info)
{
    struct seen_infos *seen = context;

    assert_true(seen->n < 4);
    seen->v[seen->n++] = *info;
    return 0;
}

static void damaged_ones_are_listed_and_can_go(void **state)
{
    struct seen_infos seen = { .n = 0 };
    struct workspace workspace;
    sbr_error err = { 0 };

    (void)state;
    assert_int_equal(workspace_list(see, &seen, &err), 0);
    assert_int_equal(seen.n, 0);
    open_it("sound", no_quota, &workspace);
    workspace_close(&workspace);
    open_it("broken", no_quota, &workspace);
    workspace_close(&workspace);
    tree_write(tree_at(&place, "state/workspaces/broken"), "meta", "half of");
    tree_write(tree_at(&place, "state/workspaces"), "afile", "what");
    open_it("used", no_quota, &workspace);
    assert_int_equal(workspace_list(see, &seen, &err), 0);
    assert_int_equal(seen.n, 4);
    assert_string_equal(seen.v[0].name, "afile");
    assert_true(seen.v[0].damaged);
    assert_true(seen.v[1].damaged);
    assert_false(seen.v[2].damaged || seen.v[2].busy);
    assert_true(seen.v[3].busy && !seen.v[3].damaged);
    workspace_close(&workspace);
    assert_refused(workspace_open("broken", true, no_quota, &workspace, &err), &err, SBR_E_INVALID,
                   "workspace rm broken");
    assert_refused(workspace_open("afile", true, no_quota, &workspace, &err), &err, SBR_E_INVALID,
                   "workspace rm afile");
    assert_int_equal(workspace_remove("broken", &err), 0);
    assert_int_equal(workspace_remove("afile", &err), 0);
    open_it("broken", no_quota, &workspace);
    workspace_close(&workspace);
}

static void list_add(struct collect_list *list, enum collect_kind kind, mode_t mode,
                     const char *path)
{
    struct collect_list_entry entry = { .kind = kind, .mode = mode, .mtime_ns = 1500000000 };

    assert_int_equal(collect_list_add(list, entry, path), 0);
}

/* What a sandbox handed out, as collect_reader leaves it: files with 0600, directories with 0700.
 * */
static void content_make(const struct workspace_import *import, struct collect_list *list)
{
    assert_int_equal(mkdirat(import->tree_fd, "d", 0700), 0);
    close(openat(import->tree_fd, "d/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(symlinkat("/etc", import->tree_fd, "l"), 0);
    list_add(list, COLLECT_ENTER, S_IFDIR | 02500, "d");
    list_add(list, COLLECT_FILE, S_IFREG | 06641, "d/x");
    list_add(list, COLLECT_LINK, S_IFLNK | 0777, "l");
    list_add(list, COLLECT_OTHER, S_IFIFO | 0644, "pipe");
}

static void content_becomes_a_workspace(void **state)
{
    struct workspace_import import, second;
    struct collect_list list = { 0 };
    struct workspace workspace;
    sbr_error err = { 0 };
    struct stat st;

    (void)state;
    assert_int_equal(workspace_import_begin("one", no_quota, &import, &err), 0);
    assert_int_equal(workspace_import_begin("one", no_quota, &second, &err), 0);
    content_make(&import, &list);
    assert_int_equal(workspace_import_end(&import, &list, &err), 0);
    workspace_import_done(&import);
    assert_refused(workspace_import_end(&second, &(struct collect_list){ 0 }, &err), &err,
                   SBR_E_INVALID, "already");
    workspace_import_done(&second);
    assert_refused(workspace_import_begin("one", no_quota, &import, &err), &err, SBR_E_INVALID,
                   "already");
    open_it("one", no_quota, &workspace);
    assert_int_equal(workspace.info.used_inodes, 3);
    assert_int_equal(fstatat(workspace.tree_fd, "d", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
    assert_int_equal(st.st_mtim.tv_sec, 1);
    assert_int_equal(st.st_mtim.tv_nsec, 500000000);
    assert_int_equal(fstatat(workspace.tree_fd, "d/x", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0641);
    workspace_close(&workspace);
    collect_list_done(&list);
}

static void content_beyond_the_quota_becomes_none(void **state)
{
    struct workspace_import import;
    struct collect_list list = { 0 };
    struct workspace workspace;
    sbr_error err = { 0 };

    (void)state;
    assert_int_equal(workspace_import_begin("two", (struct workspace_quota){ .inodes = 2 }, &import,
                                            &err),
                     0);
    content_make(&import, &list);
    assert_refused(workspace_import_end(&import, &list, &err), &err, SBR_E_INVALID, "--inodes");
    workspace_import_done(&import);
    assert_refused(workspace_open("two", false, no_quota, &workspace, &err), &err, SBR_E_NOT_FOUND,
                   "two");
    collect_list_done(&list);
}

static mode_t mode_at(const struct workspace *workspace, const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(workspace->tree_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

/* Also for root: inside, tar has the rights of the owner and no more. */
static void an_export_can_read_everything(void **state)
{
    struct workspace workspace;
    struct workspace_export opened;
    sbr_error err = { 0 };

    (void)state;
    open_it("one", no_quota, &workspace);
    tree_make(workspace.tree, "d d 755\nf d/x 200 one\nf run 755 x\n");
    assert_int_equal(fchmodat(workspace.tree_fd, "d", 0, 0), 0);
    workspace_close(&workspace);
    assert_int_equal(workspace_export_begin("one", &opened, &err), 0);
    assert_int_equal(mode_at(&opened.workspace, "d") & 0777, 0700);
    assert_int_equal(mode_at(&opened.workspace, "d/x") & 0777, 0600);
    assert_int_equal(mode_at(&opened.workspace, "run"), 0755);
    workspace_export_done(&opened);
    open_it("one", no_quota, &workspace);
    assert_int_equal(mode_at(&workspace, "d"), 0);
    assert_int_equal(fchmodat(workspace.tree_fd, "d", 0700, 0), 0);
    assert_int_equal(mode_at(&workspace, "d/x"), 0200);
    workspace_close(&workspace);
}

/* Many at once make it: each gets it, one after the other. */
static void many_can_make_one(void **state)
{
    int status;

    (void)state;
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            struct workspace workspace;
            sbr_error err;
            int r;

            do
                r = workspace_open("demo", true, no_quota, &workspace, &err);
            while (r == 0);
            _exit(r == 1 ? 0 : 1);
        }
    }
    for (int i = 0; i < 8; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

#define NAMED_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef SBR_TEST_HOOKS
        NAMED_TEST(whoever_is_killed_leaves_the_old_or_the_new), /* first: see in_a_process */
#endif
        NAMED_TEST(what_is_saved_is_there_again),
        NAMED_TEST(locked_directories_are_opened_meanwhile),
        NAMED_TEST(one_at_a_time),
        NAMED_TEST(names_are_checked),
        NAMED_TEST(quotas_are_set_and_hold),
        NAMED_TEST(damaged_ones_are_listed_and_can_go),
        NAMED_TEST(content_becomes_a_workspace),
        NAMED_TEST(content_beyond_the_quota_becomes_none),
        NAMED_TEST(an_export_can_read_everything),
        NAMED_TEST(many_can_make_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
