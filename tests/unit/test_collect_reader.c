#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect_reader_fixture.h"
#include "pipe_fixture.h"
#include "unit.h"

static void a_tree_arrives_as_it_was(void **state)
{
    (void)state;
    put_a_tree();
    assert_arrived();
    assert_the_tree();
}

static void it_may_come_byte_by_byte(void **state)
{
    (void)state;
    put_a_tree();
    arrive(1);
    assert_true(f.collect_reader.complete);
    assert_int_equal(f.collect_reader.failure.code, 0);
    assert_the_tree();
}

static void it_may_come_in_any_pieces(void **state)
{
    (void)state;
    for (size_t piece = 2; piece < 60; piece++) {
        put_a_tree();
        arrive(piece);
        assert_true(f.collect_reader.complete);
        assert_the_tree();
        collect_reader_again();
    }
}

static void an_empty_tree_is_one(void **state)
{
    (void)state;
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
}

static void of_modes_only_executable_is_kept(void **state)
{
    struct collect_entry tool = entry_of(COLLECT_FILE, 0);

    (void)state;
    tool.mode = 06777; /* whatever its value says */
    put_entry(tool, "tool");
    put_piece(0, NULL);
    put(COLLECT_FILE, "data", NULL);
    put(COLLECT_ENTER, "dir", NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(stat_of("tool").st_mode, S_IFREG | 0755);
    assert_int_equal(stat_of("data").st_mode, S_IFREG | 0644);
    assert_int_equal(stat_of("dir").st_mode & 06000, 0);
}

static void times_of_files_and_directories_are_kept(void **state)
{
    struct collect_entry file = entry_of(COLLECT_FILE, 1);

    (void)state;
    file.mtime_s = 1234567890;
    file.mtime_ns = 987654321;
    put(COLLECT_ENTER, "dir", NULL);
    put_entry(file, "file");
    put_piece(0, "x");
    put_piece(0, NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(stat_of("dir/file").st_mtim.tv_sec, 1234567890);
    assert_int_equal(stat_of("dir/file").st_mtim.tv_nsec, 987654321);
    assert_int_equal(stat_of("dir").st_mtim.tv_sec, 1000000000); /* the one that LEAVE brought */
}

static void a_time_that_is_none_harms_nobody(void **state)
{
    struct collect_entry file = entry_of(COLLECT_FILE, 0);

    (void)state;
    file.mtime_s = INT64_MIN;
    file.mtime_ns = UINT32_MAX;
    put_entry(file, "file");
    put_piece(0, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
}

static void a_name_may_be_as_long_as_names_are(void **state)
{
    char name[COLLECT_MAX_NAME + 1];

    (void)state;
    memset(name, 'n', COLLECT_MAX_NAME);
    name[COLLECT_MAX_NAME] = '\0';
    put(COLLECT_FILE, name, "x");
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_content(name, "x");
}

static void names_may_hold_what_no_terminal_should_see(void **state)
{
    (void)state;
    put(COLLECT_FILE, "line\nbreak \033[2J \xff\xfe", "x");
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_content("line\nbreak \033[2J \xff\xfe", "x");
}

static void directories_may_be_deep(void **state)
{
    (void)state;
    for (int i = 0; i < COLLECT_MAX_DEPTH; i++)
        put(COLLECT_ENTER, "d", NULL);
    put(COLLECT_FILE, "file", "x");
    for (int i = 0; i < COLLECT_MAX_DEPTH; i++)
        put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
}

static void a_link_as_long_as_links_are(void **state)
{
    char text[4096];

    (void)state;
    memset(text, 't', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    put(COLLECT_LINK, "link", text);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(stat_of("link").st_size, 4095);
}

static void a_file_larger_than_a_pipe_arrives(void **state)
{
    const size_t size = 5 << 20;
    struct pipe_fixture pipe;
    sbr_error err;
    size_t sent = 0;

    (void)state;
    f.collect_reader.max_bytes = size;
    put_entry(entry_of(COLLECT_FILE, size), "big");
    put_zeros(size);
    put_piece(0, NULL);
    put(COLLECT_END, NULL, NULL);
    pipe_fixture_init(&pipe);
    assert_int_equal(collect_reader_start(&f.collect_reader, pipe.read_end, &pipe.loop, &err), 0);
    pipe.read_end = -1; /* taken over */
    while (sent < f.stream.len) {
        ssize_t n = write(pipe.write_end, f.stream.data + sent, f.stream.len - sent);

        assert_true(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        pipe_fixture_turn(&pipe);
    }
    pipe_fixture_close(&pipe.write_end);
    collect_reader_finish(&f.collect_reader);
    assert_int_equal(f.collect_reader.failure.code, 0);
    assert_int_equal(stat_of("big").st_size, size);
    pipe_fixture_done(&pipe);
}

static void a_disk_that_is_full_is_told(void **state)
{
    struct rlimit before, small;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 100, before.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    put_entry(entry_of(COLLECT_FILE, 500), "file");
    put_zeros(500);
    put_piece(0, NULL);
    put(COLLECT_END, NULL, NULL);
    arrive(AT_ONCE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f.collect_reader.failure.sys_errno, EFBIG);
}

static size_t open_files(void)
{
    size_t n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void what_is_cut_short_leaves_no_descriptor(void **state)
{
    size_t before = open_files();

    (void)state;
    for (int i = 0; i < 20; i++)
        put(COLLECT_ENTER, "d", NULL);
    put_entry(entry_of(COLLECT_FILE, 100), "file");
    put_piece(0, "half");
    arrive(AT_ONCE);
    assert_true(open_files() > before);
    collect_reader_done(&f.collect_reader);
    assert_int_equal(open_files(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(a_tree_arrives_as_it_was),
        INTAKE_TEST(it_may_come_byte_by_byte),
        INTAKE_TEST(it_may_come_in_any_pieces),
        INTAKE_TEST(an_empty_tree_is_one),
        INTAKE_TEST(of_modes_only_executable_is_kept),
        INTAKE_TEST(times_of_files_and_directories_are_kept),
        INTAKE_TEST(a_time_that_is_none_harms_nobody),
        INTAKE_TEST(a_name_may_be_as_long_as_names_are),
        INTAKE_TEST(names_may_hold_what_no_terminal_should_see),
        INTAKE_TEST(directories_may_be_deep),
        INTAKE_TEST(a_link_as_long_as_links_are),
        INTAKE_TEST(a_file_larger_than_a_pipe_arrives),
        INTAKE_TEST(a_disk_that_is_full_is_told),
        INTAKE_TEST(what_is_cut_short_leaves_no_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
