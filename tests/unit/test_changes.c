/* The list of changes, its one line, and its JSON, read back with a JSON library that is not ours.
 * */
#include <jansson.h>
#include <stdlib.h>

#include "model/changes.h"
#include "unit.h"

static struct changes c;

static int set_up(void **state)
{
    sbr_error err;

    (void)state;
    c = (struct changes){ 0 };
    assert_int_equal(changes_add_root(&c, "/srv/project", "/work", &err), 0);
    assert_int_equal(changes_add_root(&c, "/srv/data", "/data", &err), 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    changes_done(&c);
    return 0;
}

static struct node file(uint64_t size)
{
    return (struct node){ .kind = NODE_FILE, .mode = 0644, .size = size };
}

static const struct node nothing, dir = { .kind = NODE_DIR, .mode = 0755 };

static struct change *add(enum change_op op, const char *path, struct node base, struct node now)
{
    sbr_error err;

    assert_int_equal(changes_add(&c,
                                 &(struct change){
                                     .op = op, .path = strdup(path), .base = base, .now = now },
                                 &err),
                     0);
    return &c.items[c.n - 1];
}

static void assert_summary(bool done, const char *expected)
{
    char line[200];

    changes_summary(&c, done, line, sizeof(line));
    assert_string_equal(line, expected);
}

static void they_are_ordered_by_roots_and_bytes(void **state)
{
    static const char *const expected[] = { "a", "a-b", "a/b", "\xc3\xa9", "A" };

    (void)state;
    add(CHANGE_CREATED, "A", nothing, file(1))->root = 1;
    add(CHANGE_CREATED, "\xc3\xa9", nothing, file(1));
    add(CHANGE_CREATED, "a/b", nothing, file(1));
    add(CHANGE_CREATED, "a-b", nothing, file(1));
    add(CHANGE_CREATED, "a", nothing, dir);
    changes_sort(&c);
    for (size_t i = 0; i < c.n; i++)
        assert_string_equal(c.items[i].path, expected[i]);
}

static void the_summary_is_one_line(void **state)
{
    (void)state;
    assert_summary(false, "no changes");
    assert_summary(true, "no changes");
    for (int i = 0; i < 3; i++)
        add(CHANGE_DELETED, "log", file(15000000), nothing);
    add(CHANGE_DELETED, "logs", dir, nothing);
    add(CHANGE_MODIFIED, "index", file(10), file(20));
    assert_summary(false, "would delete 3 files, 43 MiB; modify 1");
    assert_summary(true, "deleted 3 files, 43 MiB; modified 1");
    add(CHANGE_RENAMED, "x", file(10), file(10));
    add(CHANGE_CREATED, "y", nothing, file(1));
    add(CHANGE_MODE, "z", file(10), file(10));
    assert_summary(false, "would delete 3 files, 43 MiB; modify 1; rename 1; create 1, 1 byte; "
                          "change the mode of 1");
    assert_summary(true, "deleted 3 files, 43 MiB; modified 1; renamed 1; created 1, 1 byte; "
                         "changed the mode of 1");
}

static void directories_are_named_where_there_are_no_files(void **state)
{
    (void)state;
    add(CHANGE_CREATED, "d", nothing, dir);
    assert_summary(false, "would create 1 directory");
    add(CHANGE_CREATED, "e", nothing, dir);
    assert_summary(true, "created 2 directories");
    add(CHANGE_MODIFIED, "f", file(1), file(2));
    add(CHANGE_MODE, "g", file(1), file(1));
    assert_summary(false, "would modify 1 file; create 2 directories; change the mode of 1 file");
}

static void a_short_buffer_cuts_the_summary(void **state)
{
    char line[8];

    (void)state;
    add(CHANGE_CREATED, "d", nothing, dir);
    changes_summary(&c, false, line, sizeof(line));
    assert_string_equal(line, "would c");
}

static void sizes_are_those_of_people(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        { 0, "0 bytes" },           { 1, "1 byte" },
        { 1023, "1023 bytes" },     { 1024, "1 KiB" },
        { 1536, "1.5 KiB" },        { 10187, "9.9 KiB" },
        { 12345, "12 KiB" },        { 1023 << 10, "1023 KiB" },
        { (1 << 20) - 1, "1 MiB" }, { 45000000, "43 MiB" },
        { 2500000000, "2.3 GiB" },  { UINT64_MAX, "16 EiB" },
    };
    char text[SIZE_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        changes_size_text(sizes[i].bytes, text);
        assert_string_equal(text, sizes[i].text);
    }
    /* Sparse files can claim more than a number holds. */
    add(CHANGE_CREATED, "a", nothing, file(UINT64_MAX));
    add(CHANGE_CREATED, "b", nothing, file(UINT64_MAX));
    assert_summary(true, "created 2 files, 16 EiB");
}

static json_t *as_json(const struct changes *changes)
{
    struct jsonw j;
    json_t *root;
    char *text;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    changes_put_json(&j, changes);
    jsonw_close(&j, '}');
    text = jsonw_take(&j);
    assert_non_null(text);
    root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    assert_non_null(root);
    return root;
}

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void nobody_asked_is_null(void **state)
{
    json_t *root = as_json(NULL);

    (void)state;
    assert_true(json_is_null(json_object_get(root, "changes")));
    assert_true(json_is_null(json_object_get(root, "changes_total")));
    assert_true(json_is_null(json_object_get(root, "changes_summary")));
    json_decref(root);
    root = as_json(&c);
    assert_int_equal(json_array_size(json_object_get(root, "changes")), 0);
    assert_string_equal(text_of(root, "changes_summary"), "no changes");
    json_decref(root);
}

static void each_change_has_its_fields(void **state)
{
    struct change *renamed;
    json_t *root, *list, *item;

    (void)state;
    add(CHANGE_CREATED, "new", nothing, file(5))->root = 1;
    add(CHANGE_DELETED, "d", dir, nothing);
    renamed = add(CHANGE_RENAMED, "to", file(7), file(7));
    renamed->from = strdup("fr\xffom");
    renamed->raced = true;
    add(CHANGE_MODIFIED, "kind", dir, file(1));
    root = as_json(&c);
    list = json_object_get(root, "changes");
    assert_int_equal(json_integer_value(json_object_get(root, "changes_total")), 4);
    item = json_array_get(list, 0);
    assert_string_equal(text_of(item, "op"), "created");
    assert_string_equal(text_of(item, "kind"), "file");
    assert_string_equal(text_of(item, "mode"), "0644");
    assert_string_equal(text_of(item, "volume"), "/data");
    assert_int_equal(json_integer_value(json_object_get(item, "size")), 5);
    assert_null(json_object_get(item, "base_size"));
    assert_null(json_object_get(item, "raced"));
    item = json_array_get(list, 1);
    assert_string_equal(text_of(item, "kind"), "directory");
    assert_string_equal(text_of(item, "base_mode"), "0755");
    assert_int_equal(json_integer_value(json_object_get(item, "size")),
                     json_integer_value(json_object_get(item, "base_size")));
    assert_null(json_object_get(item, "volume"));
    item = json_array_get(list, 2);
    assert_string_equal(text_of(item, "from"), "fr\xef\xbf\xbdom");
    assert_string_equal(text_of(item, "from_base64"), "ZnL/b20=");
    assert_true(json_is_true(json_object_get(item, "raced")));
    assert_string_equal(text_of(json_array_get(list, 3), "base_kind"), "directory");
    json_decref(root);
}

static void very_many_are_counted_but_not_all_listed(void **state)
{
    json_t *root;

    (void)state;
    for (int i = 0; i < CHANGES_JSON_MAX + 5; i++)
        add(CHANGE_CREATED, "f", nothing, file(1));
    root = as_json(&c);
    assert_int_equal(json_array_size(json_object_get(root, "changes")), CHANGES_JSON_MAX);
    assert_int_equal(json_integer_value(json_object_get(root, "changes_total")),
                     CHANGES_JSON_MAX + 5);
    json_decref(root);
}

static void very_long_names_do_not_make_it_endless(void **state)
{
    enum { LONG = 2500 };
    char name[LONG + 1];
    json_t *root;

    (void)state;
    memset(name, 1, LONG); /* six bytes each */
    name[LONG] = '\0';
    for (int i = 0; i < 2000; i++)
        add(CHANGE_CREATED, name, nothing, file(1));
    root = as_json(&c);
    assert_in_range(json_array_size(json_object_get(root, "changes")), 500, 1500);
    assert_int_equal(json_integer_value(json_object_get(root, "changes_total")), 2000);
    json_decref(root);
}

int main(void)
{
#define WITH_LIST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_LIST(they_are_ordered_by_roots_and_bytes),
        WITH_LIST(the_summary_is_one_line),
        WITH_LIST(directories_are_named_where_there_are_no_files),
        WITH_LIST(a_short_buffer_cuts_the_summary),
        WITH_LIST(sizes_are_those_of_people),
        WITH_LIST(nobody_asked_is_null),
        WITH_LIST(each_change_has_its_fields),
        WITH_LIST(very_many_are_counted_but_not_all_listed),
        WITH_LIST(very_long_names_do_not_make_it_endless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
