/* What a project's root says before the program runs. */
#include "toolchain/project.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static struct manifest manifests[] = { { .file = "deps.txt" }, { .file = "other.txt" } };
static const char *locks[] = { "deps.lock" }, *command[] = { "install" };

static const struct language language = {
    .name = "l",
    .source = "main.l",
    .deps_link = "installed",
    .install = { .run = { command, 1 },
                 .manifests = manifests,
                 .n_manifests = 2,
                 .locks = { locks, 1 } },
};

static char folder[] = "/tmp/unit-project-XXXXXX";
static int fd;
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0;
}

static void put(const char *name, const char *text)
{
    int file = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
}

static int tear_down(void **state)
{
    static const char *const names[] = { "deps.txt", "other.txt",          "deps.lock",
                                         "main.l",   "sandbox_run_main.l", "pipe" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unlinkat(fd, names[i], 0);
    unlinkat(fd, "installed", AT_REMOVEDIR);
    close(fd);
    return rmdir(folder);
}

static size_t read_all(struct request_file **ret)
{
    size_t n = 99;

    if (project_manifests(fd, &language, ret, &n, &err) < 0)
        fail_msg("%s", err.message);
    return n;
}

static void drop(struct request_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(files[i].path);
        free(files[i].data);
    }
    free(files);
}

static void manifests_and_locks_that_are_there_are_read(void **state)
{
    struct request_file *files;

    (void)state;
    assert_int_equal(read_all(&files), 0);
    drop(files, 0);
    put("deps.txt", "abc");
    put("deps.lock", "");
    assert_int_equal(read_all(&files), 2);
    assert_string_equal(files[0].path, "deps.txt");
    assert_string_equal(files[0].data, "abc");
    assert_string_equal(files[1].path, "deps.lock");
    assert_int_equal(files[1].len, 0);
    drop(files, 2);
}

/* A pipe would be waited for, a link may lead anywhere. */
static void what_is_no_file_is_no_manifest(void **state)
{
    struct request_file *files;

    (void)state;
    assert_int_equal(mkfifoat(fd, "deps.txt", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", fd, "deps.lock"), 0);
    assert_int_equal(read_all(&files), 0);
    drop(files, 0);
}

static void what_is_installed_already_is_not_installed_again(void **state)
{
    struct request_file *files;

    (void)state;
    put("deps.txt", "abc");
    assert_int_equal(mkdirat(fd, "installed", 0700), 0);
    assert_int_equal(read_all(&files), 0);
    assert_null(files);
}

static void code_takes_a_name_that_is_free(void **state)
{
    char name[64];

    (void)state;
    assert_int_equal(project_code_name(fd, &language, name, sizeof(name), &err), 0);
    assert_string_equal(name, "");
    assert_int_equal(symlinkat("nowhere", fd, "main.l"), 0);
    assert_int_equal(project_code_name(fd, &language, name, sizeof(name), &err), 0);
    assert_string_equal(name, "sandbox_run_main.l");
    put("sandbox_run_main.l", "");
    assert_refused(project_code_name(fd, &language, name, sizeof(name), &err), &err, SBR_E_INVALID,
                   "no name left");
}

static void a_program_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_refused(project_program(fd, "main.l", &err), &err, SBR_E_NOT_FOUND, "no 'main.l'");
    put("main.l", "");
    assert_int_equal(project_program(fd, "main.l", &err), 0);
    assert_int_equal(mkfifoat(fd, "pipe", 0600), 0);
    assert_refused(project_program(fd, "pipe", &err), &err, SBR_E_INVALID, "is not a file");
}

#define PROJECT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROJECT_TEST(manifests_and_locks_that_are_there_are_read),
        PROJECT_TEST(what_is_no_file_is_no_manifest),
        PROJECT_TEST(what_is_installed_already_is_not_installed_again),
        PROJECT_TEST(code_takes_a_name_that_is_free),
        PROJECT_TEST(a_program_that_is_not_there_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
