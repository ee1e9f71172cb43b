#include "changes/kept_output.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fixture.h"
#include "unit.h"

static struct tree_place place;
static const struct kept_output_bounds small = { .run_bytes = 10, .all_bytes = 40, .seconds = 100 };

static int make_place(void **state)
{
    (void)state;
    tree_place_make(&place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    tree_place_remove(&place);
    return 0;
}

static void begin(struct kept_writer *writer)
{
    sbr_error err;

    assert_int_equal(kept_output_begin(&small, "a \x1b command", writer, &err), 0);
}

static void put(struct kept_writer *writer, enum kept_stream stream, const char *text)
{
    kept_output_write(writer, stream, text, strlen(text));
}

static void end(struct kept_writer *writer)
{
    sbr_error err;

    assert_int_equal(kept_output_end(writer, &err), 0);
}

static void assert_holds(const char *id, enum kept_stream stream, const char *text)
{
    struct kept_output output;
    char read_text[64] = "";
    sbr_error err;
    int fd;

    assert_int_equal(kept_output_open(id, stream, &output, &fd, &err), 0);
    assert_int_equal(read(fd, read_text, sizeof(read_text) - 1), strlen(text));
    assert_string_equal(read_text, text);
    assert_int_equal(output.kept[stream], strlen(text));
    close(fd);
}

static int count(void *context, const struct kept_output *output)
{
    (void)output;
    ++*(size_t *)context;
    return 0;
}

static size_t n_kept(void)
{
    size_t n = 0;
    sbr_error err;

    assert_int_equal(kept_output_list(count, &n, &err), 0);
    return n;
}

static void both_streams_are_kept_for_their_user_alone(void **state)
{
    struct kept_writer writer;
    struct kept_output output;
    struct stat st;
    sbr_error err;
    char short_id[9];
    int fd;

    (void)state;
    assert_int_equal(n_kept(), 0);
    begin(&writer);
    put(&writer, KEPT_STDOUT, "one");
    put(&writer, KEPT_STDERR, "two");
    put(&writer, KEPT_STDOUT, "4");
    snprintf(short_id, sizeof(short_id), "%.8s", writer.about.id);
    assert_int_equal(kept_output_open(short_id, KEPT_STDOUT, &output, &fd, &err), 0);
    assert_true(output.running);
    close(fd);
    assert_int_equal(kept_output_remove(short_id, &err), SBR_E_BUSY);
    end(&writer);
    assert_holds(short_id, KEPT_STDOUT, "one4");
    assert_holds(writer.about.id, KEPT_STDERR, "two");
    assert_int_equal(kept_output_open(short_id, KEPT_STDOUT, &output, &fd, &err), 0);
    assert_true(output.ended && !output.running);
    assert_string_equal(output.about, "a \\x1b command");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    close(fd);
    assert_int_equal(kept_output_remove(short_id, &err), 0);
    assert_int_equal(kept_output_remove(short_id, &err), SBR_E_NOT_FOUND);
    assert_int_equal(n_kept(), 0);
}

static void past_the_bound_of_a_run_bytes_are_counted(void **state)
{
    struct kept_writer writer;
    struct kept_output output;
    sbr_error err;
    int fd;

    (void)state;
    begin(&writer);
    put(&writer, KEPT_STDOUT, "12345678");
    put(&writer, KEPT_STDERR, "abc");
    put(&writer, KEPT_STDERR, "d"); /* behind a byte that was not kept */
    assert_true(kept_output_end(&writer, &err) < 0);
    assert_non_null(strstr(err.message, "2 bytes are only counted"));
    assert_holds(writer.about.id, KEPT_STDOUT, "12345678");
    assert_holds(writer.about.id, KEPT_STDERR, "ab");
    assert_int_equal(kept_output_open(writer.about.id, KEPT_STDERR, &output, &fd, &err), 0);
    assert_int_equal(output.total[KEPT_STDERR], 4);
    close(fd);
}

static void keep(char id[ENCODING_ID_SIZE])
{
    struct kept_writer writer;

    begin(&writer);
    put(&writer, KEPT_STDOUT, "1234567890");
    end(&writer);
    memcpy(id, writer.about.id, ENCODING_ID_SIZE);
}

/* Lets a kept output look older: its files are `seconds` back. */
static void make_older(const char *id, time_t seconds)
{
    static const char *const names[] = { "meta", "stdout", "stderr" };
    struct timespec times[2];
    struct stat st;
    char path[200];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", tree_at(&place, "state/output"), id);
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s", names[i]);
        assert_int_equal(stat(path, &st), 0);
        times[0] = times[1] = st.st_mtim;
        times[0].tv_sec -= seconds;
        times[1].tv_sec -= seconds;
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
}

static void a_new_one_removes_what_expired(void **state)
{
    char old[ENCODING_ID_SIZE], recent[ENCODING_ID_SIZE];
    struct kept_writer writer;

    (void)state;
    keep(old);
    keep(recent);
    make_older(old, 101);
    make_older(recent, 50);
    begin(&writer);
    end(&writer);
    assert_int_equal(n_kept(), 2);
    assert_holds(recent, KEPT_STDOUT, "1234567890");
}

static void all_of_them_have_a_bound(void **state)
{
    struct kept_writer running[4], more;
    char id[ENCODING_ID_SIZE];
    sbr_error err;
    size_t n;

    (void)state;
    for (int i = 0; i < 7; i++)
        keep(id);
    assert_int_equal(n_kept(), 4);
    begin(&running[0]);
    assert_int_equal(n_kept(), 4); /* a run that writes counts with all that it may write */
    for (int i = 1; i < 4; i++)
        begin(&running[i]);
    assert_int_equal(kept_output_begin(&small, "", &more, &err), SBR_E_BUSY);
    assert_int_equal(n_kept(), 4);
    end(&running[0]);
    begin(&more);
    put(&more, KEPT_STDOUT, "x");
    end(&more);
    assert_int_equal(kept_output_remove_all(&n, &err), 0);
    assert_int_equal(n_kept(), 3);
    for (int i = 1; i < 4; i++)
        end(&running[i]);
    assert_int_equal(kept_output_remove_all(&n, &err), 0);
    assert_int_equal(n, 3);
}

static void an_id_is_an_id(void **state)
{
    static const char *const bad[] = { "",
                                       "abc",
                                       "../x",
                                       "..",
                                       "/",
                                       "abcg",
                                       "0123/../0123",
                                       "ABCD",
                                       "0123456789abcdef0123456789abcdef0" };
    struct kept_output output;
    sbr_error err;
    int fd;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(kept_output_open(bad[i], KEPT_STDOUT, &output, &fd, &err), SBR_E_INVALID);
        assert_int_equal(kept_output_remove(bad[i], &err), SBR_E_INVALID);
    }
    assert_int_equal(kept_output_open("01234", KEPT_STDOUT, &output, &fd, &err), SBR_E_NOT_FOUND);
}

#define KEPT_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEPT_TEST(both_streams_are_kept_for_their_user_alone),
        KEPT_TEST(past_the_bound_of_a_run_bytes_are_counted),
        KEPT_TEST(a_new_one_removes_what_expired),
        KEPT_TEST(all_of_them_have_a_bound),
        KEPT_TEST(an_id_is_an_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
