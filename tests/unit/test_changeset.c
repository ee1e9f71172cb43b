#include "changes/changeset.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/changeset_meta.h"
#include "tree_fixture.h"
#include "unit.h"

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
    tree_place_remove(&place);
    return 0;
}

/* Changes of every kind, and two files of which one is kept. */
static void fill(struct changes *changes, struct output_files *files)
{
    const struct change rows[] = {
        { .op = CHANGE_CREATED, .path = strdup("a\nb\xff"), .now = { NODE_FILE, 0644, 3, 7 } },
        { .op = CHANGE_RENAMED,
          .root = 1,
          .path = strdup("to"),
          .from = strdup("from"),
          .now = { NODE_FILE, 0600, 1, -5 },
          .base = { NODE_FILE, 0644, 1, 9 },
          .base_ino = UINT64_MAX,
          .base_ctime_ns = -1,
          .base_sum = "abc",
          .raced = true },
    };
    struct output_file changeset = { .path = strdup("/work/out.png"), .size = 3 };
    struct output_file skipped = { .path = strdup("/work/pipe"), .skipped = strdup("is a pipe") };
    sbr_error err;

    assert_int_equal(changes_add_root(changes, "/one", "/work", &err), 0);
    assert_int_equal(changes_add_root(changes, "/two", "/data", &err), 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(changes_add(changes, &rows[i], &err), 0);
    assert_int_equal(output_files_add(files, &changeset, &err), 0);
    assert_int_equal(output_files_add(files, &skipped, &err), 0);
}

static void keep_one(const char *about, char id[ENCODING_ID_SIZE])
{
    struct changes changes = { 0 };
    struct output_files files = { 0 };
    struct staging staging;
    char expected[STATE_PATH_SIZE + 80];
    sbr_error err = { 0 };

    fill(&changes, &files);
    if (staging_open(&staging, &err) < 0)
        fail_msg("%s", err.message);
    memcpy(id, staging.id, ENCODING_ID_SIZE);
    for (const char *const *p = (const char *const[]){ "tree", "tree/files", "tree/files/1",
                                                       "tree/files/1/work", "cow", NULL };
         *p; p++)
        assert_int_equal(mkdirat(staging.fd, *p, 0700), 0);
    tree_write(staging.path, "tree/files/1/work/out.png", "png");
    if (changeset_commit(&staging, &changes, &files, about, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(staging.fd, -1);
    snprintf(expected, sizeof(expected), "%s/changes/%s/tree/files/1/work/out.png",
             getenv("SANDBOX_RUN_STATE"), id);
    assert_string_equal(files.items[0].saved, expected);
    assert_null(files.items[1].saved);
    assert_int_equal(access(expected, F_OK), 0);
    changes_done(&changes);
    output_files_done(&files);
}

static void what_is_kept_is_read_again(void **state)
{
    char id[ENCODING_ID_SIZE];
    const struct change *c;
    struct changeset changeset;
    sbr_error err;

    (void)state;
    keep_one("run \033[31m it", id);
    assert_int_equal(changeset_open(id, &changeset, &err), 0);
    assert_string_equal(changeset.id, id);
    assert_null(strchr(changeset.about, '\033'));
    assert_false(changeset.applied);
    assert_int_equal(changeset.changes.n_roots, 2);
    assert_string_equal(changeset.changes.roots[1].source, "/two");
    assert_string_equal(changeset.changes.items[0].path, "a\nb\xff");
    c = &changeset.changes.items[1];
    assert_int_equal(c->op, CHANGE_RENAMED);
    assert_string_equal(c->from, "from");
    assert_true(c->raced && c->base_ino == UINT64_MAX && c->base_ctime_ns == -1);
    assert_int_equal(c->now.mtime_ns, -5);
    assert_string_equal(c->base_sum, "abc");
    assert_int_equal(changeset.files.n, 2);
    assert_string_equal(changeset.files.items[0].mime, "image/png");
    assert_string_equal(changeset.files.items[1].skipped, "is a pipe");
    assert_int_equal(faccessat(changeset.dir_fd, "cow", F_OK, 0),
                     -1); /* of the run, not of the changes */
    assert_int_equal(changeset_mark(&changeset, true, &err), 0);
    changeset_close(&changeset);
    assert_int_equal(changeset_open(id, &changeset, &err), 0);
    assert_true(changeset.applied);
    changeset_close(&changeset);
}

static int remember(void *context, const struct changeset *changeset)
{
    char *list = context;

    snprintf(list + strlen(list), 400 - strlen(list), "%s%s ", changeset->damaged ? "damaged" : "",
             changeset->about);
    return 0;
}

static void the_list_has_the_newest_first_and_the_damaged_last(void **state)
{
    char ids[3][ENCODING_ID_SIZE], list[400] = "", path[STATE_PATH_SIZE + 80];
    sbr_error err;

    (void)state;
    assert_int_equal(changeset_list(remember, list, &err), 0);
    assert_string_equal(list, "");
    keep_one("one", ids[0]);
    keep_one("two", ids[1]);
    keep_one("three", ids[2]);
    snprintf(path, sizeof(path), "state/changes/%s/meta", ids[2]);
    assert_int_equal(unlinkat(place.top_fd, path, 0), 0);
    assert_int_equal(changeset_list(remember, list, &err), 0);
    assert_string_equal(list, "two one damaged ");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(changeset_drop(ids[i], &err), 0);
    list[0] = '\0';
    assert_int_equal(changeset_list(remember, list, &err), 0);
    assert_string_equal(list, "");
    assert_refused(changeset_drop(ids[0], &err), &err, SBR_E_NOT_FOUND, "changes list");
}

/* Whatever is in the file: damaged, or (when the sum was made anew) refused. */
static void no_meta_is_believed_that_is_not_whole(void **state)
{
    char id[ENCODING_ID_SIZE], path[STATE_PATH_SIZE + 80], data[4096];
    struct changeset changeset;
    sbr_error err;
    ssize_t len;
    int fd;

    (void)state;
    keep_one("one", id);
    snprintf(path, sizeof(path), "%s/changes/%s/meta", getenv("SANDBOX_RUN_STATE"), id);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    len = fd_read_full(fd, data, sizeof(data));
    assert_in_range(len, 200, sizeof(data) - 1);
    for (ssize_t i = 0; i < len; i++) {
        char byte = (char)(data[i] ^ 0x41);

        assert_int_equal(pwrite(fd, &byte, 1, i), 1);
        assert_refused(changeset_open(id, &changeset, &err), &err, SBR_E_SYSTEM, "damaged");
        assert_int_equal(pwrite(fd, &data[i], 1, i), 1);
    }
    for (ssize_t i = 0; i < len; i += 7) {
        assert_int_equal(ftruncate(fd, i), 0);
        assert_refused(changeset_open(id, &changeset, &err), &err, SBR_E_SYSTEM, "damaged");
        assert_int_equal(pwrite(fd, data, (size_t)len, 0), len);
    }
    assert_int_equal(changeset_open(id, &changeset, &err), 0);
    changeset_close(&changeset);
    close(fd);
}

static void paths_that_lead_elsewhere_are_none(void **state)
{
    static const char *const bad[] = { "", "/x", "x/", "x//y", ".", "..", "../x", "x/../y", "x/." };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(changeset_is_path(bad[i]));
    assert_false(changeset_is_path(NULL));
    assert_true(changeset_is_path("x/..y/.z"));
}

/* Bytes with a sound sum that are no list of changes: each field in turn is made wrong. */
static void lists_that_make_no_sense_are_refused(void **state)
{
    struct changes changes = { 0 }, again = { 0 };
    struct output_files files = { 0 };
    struct buf data;
    sbr_error err;

    (void)state;
    fill(&changes, &files);
    buf_init(&data, 1 << 16);
    changes_encode(&changes, &data);
    for (size_t i = 0; i < data.len; i++) {
        struct buf_reader r = { .data = data.data, .len = data.len };
        char byte = data.data[i];

        data.data[i] = (char)(byte ^ 0xa5);
        assert_true(changes_decode(&r, &again, &err) >= SBR_E_NO_MEMORY); /* and never ends us */
        for (size_t k = 0; k < again.n; k++)
            assert_true(again.items[k].root < again.n_roots &&
                        changeset_is_path(again.items[k].path));
        changes_done(&again);
        again = (struct changes){ 0 };
        data.data[i] = byte;
    }
    buf_done(&data);
    changes_done(&changes);
    output_files_done(&files);
}

static void an_id_may_be_shortened(void **state)
{
    char id[ENCODING_ID_SIZE], shorter[ENCODING_ID_SIZE];
    struct changeset changeset;
    sbr_error err;

    (void)state;
    keep_one("one", id);
    snprintf(shorter, sizeof(shorter), "%.4s", id);
    assert_int_equal(changeset_open(shorter, &changeset, &err), 0);
    assert_string_equal(changeset.id, id);
    changeset_close(&changeset);
    snprintf(shorter, sizeof(shorter), "%.3s", id);
    assert_refused(changeset_open(shorter, &changeset, &err), &err, SBR_E_INVALID,
                   "start of an id");
    assert_refused(changeset_open("../x", &changeset, &err), &err, SBR_E_INVALID, "start of an id");
}

static void one_has_it_at_a_time(void **state)
{
    struct changeset first, second;
    char id[ENCODING_ID_SIZE];
    sbr_error err;

    (void)state;
    keep_one("one", id);
    assert_int_equal(changeset_open(id, &first, &err), 0);
    assert_int_equal(changeset_open(id, &second, &err), 0);
    assert_int_equal(changeset_lock(&first, &err), 0);
    assert_refused(changeset_lock(&second, &err), &err, SBR_E_BUSY, "another sandbox-run");
    assert_refused(changeset_drop(id, &err), &err, SBR_E_BUSY, "another sandbox-run");
    changeset_close(&first);
    assert_int_equal(changeset_drop(id, &err), 0);
    assert_refused(changeset_lock(&second, &err), &err, SBR_E_NOT_FOUND, "dropped");
    changeset_close(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_is_read_again),
        TEST(the_list_has_the_newest_first_and_the_damaged_last),
        TEST(no_meta_is_believed_that_is_not_whole),
        TEST(paths_that_lead_elsewhere_are_none),
        TEST(lists_that_make_no_sense_are_refused),
        TEST(an_id_may_be_shortened),
        TEST(one_has_it_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
