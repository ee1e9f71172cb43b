/* The reading and writing of groups, in a directory that looks like one. */
#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "unit.h"

static const char *const files[] = { "cpu.max",         "cpu.stat",         "memory.events",
                                     "memory.max",      "memory.oom.group", "memory.peak",
                                     "memory.swap.max", "pids.events",      "pids.max",
                                     "pids.peak" };
static char dir_path[] = "/tmp/sbr-unit-cgroup-XXXXXX";
static int dir_fd = -1;

static void put(const char *name, const char *text)
{
    scoped_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void assert_file(const char *name, const char *expected)
{
    char text[256];

    assert_true(fd_read_small(dir_fd, name, text, sizeof(text)) >= 0);
    assert_string_equal(text, expected);
}

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir_path))
        return -1;
    dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        unlinkat(dir_fd, files[i], 0);
    close(dir_fd);
    return rmdir(dir_path);
}

static int empty_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        put(files[i], "");
    return 0;
}

static void numbers_are_read_and_what_is_not_there_is_zero(void **state)
{
    (void)state;
    put("memory.peak", "123456789012\n");
    assert_true(cgroup_read_number(dir_fd, "memory.peak") == 123456789012);
    put("memory.peak", "max\n");
    assert_int_equal(cgroup_read_number(dir_fd, "memory.peak"), 0);
    assert_int_equal(cgroup_read_number(dir_fd, "nothing"), 0);
    assert_int_equal(cgroup_read_number(-1, "nothing"), 0);
}

static void a_field_is_found_by_its_whole_name(void **state)
{
    (void)state;
    put("memory.events", "low 0\noom 7\noom_kill 2\noom_group_kill 1\n");
    assert_int_equal(cgroup_read_field(dir_fd, "memory.events", "oom_kill"), 2);
    assert_int_equal(cgroup_read_field(dir_fd, "memory.events", "oom"), 7);
    assert_int_equal(cgroup_read_field(dir_fd, "memory.events", "oo"), 0);
    assert_int_equal(cgroup_read_field(dir_fd, "memory.events", "max"), 0);
    assert_int_equal(cgroup_read_field(dir_fd, "nothing", "oom"), 0);
    put("memory.events", "oom");
    assert_int_equal(cgroup_read_field(dir_fd, "memory.events", "oom"), 0);
}

/* Leaf and controllers of a v2 group that is our directory. */
static struct cgroup v2_group(uint32_t controllers)
{
    struct cgroup cg = { .kind = CGROUP_V2, .controllers = controllers, .oom_fd = -1 };

    for (unsigned int i = 0; i < N_CG; i++)
        cg.parent_fd[i] = cg.leaf_fd[i] = -1;
    cg.leaf_fd[0] = dir_fd;
    return cg;
}

static void limits_of_v2_are_written_to_the_files_of_their_controllers(void **state)
{
    struct cgroup cg = v2_group(1u << CG_MEMORY | 1u << CG_PIDS | 1u << CG_CPU);
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    limits.value[SBR_MEMORY_BYTES] = 64 * MIB;
    limits.value[SBR_PIDS] = 10;
    limits.value[SBR_CPU_MILLIS] = 1500;
    assert_int_equal(cgroup_v2_driver.limit(&cg, &limits, cg.controllers, &err), 0);
    assert_file("memory.max", "67108864");
    assert_file("memory.oom.group", "1");
    assert_file("memory.swap.max", "0");
    assert_file("pids.max", "11"); /* one for init */
    assert_file("cpu.max", "150000 100000");
}

static void controllers_that_are_not_wanted_are_left_alone(void **state)
{
    struct cgroup cg = v2_group(1u << CG_PIDS);
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    assert_int_equal(cgroup_v2_driver.limit(&cg, &limits, cg.controllers, &err), 0);
    assert_file("memory.max", "");
    assert_file("cpu.max", "");
    assert_file("pids.max", "129");
}

static void a_limit_that_cannot_be_set_is_an_error(void **state)
{
    struct cgroup cg = v2_group(1u << CG_MEMORY);
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    unlinkat(dir_fd, "memory.oom.group", 0);
    assert_refused(cgroup_v2_driver.limit(&cg, &limits, cg.controllers, &err), &err, SBR_E_SYSTEM,
                   "cannot limit memory");
    assert_string_equal(err.stage, "cgroup");
}

static void a_kernel_without_swap_accounting_is_fine(void **state)
{
    struct cgroup cg = v2_group(1u << CG_MEMORY);
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    unlinkat(dir_fd, "memory.swap.max", 0);
    assert_int_equal(cgroup_v2_driver.limit(&cg, &limits, cg.controllers, &err), 0);
}

static void measures_of_v2_are_read_from_their_files(void **state)
{
    struct cgroup cg = v2_group(1u << CG_MEMORY | 1u << CG_PIDS);
    struct cgroup_usage usage;

    (void)state;
    put("memory.peak", "1000\n");
    put("pids.peak", "5\n");
    put("memory.events", "oom_kill 3\n");
    put("pids.events", "max 2\n");
    put("cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\n");
    cgroup_read(&cg, &usage);
    assert_int_equal(usage.peak_memory_bytes, 1000);
    assert_int_equal(usage.peak_processes, 4); /* without init */
    assert_int_equal(usage.oom_kills, 3);
    assert_int_equal(usage.refused_forks, 2);
    assert_int_equal(usage.cpu_user_us, 20);
    assert_int_equal(usage.cpu_system_us, 10);
    assert_int_equal(cgroup_cpu_us(&cg), 30);
    assert_int_equal(cgroup_clone_fd(&cg), dir_fd);
}

static void without_controllers_there_is_nothing_to_make_or_measure(void **state)
{
    struct cgroup_features features = { .kind = CGROUP_V2 };
    struct plan plan = { .cgroup_kind = CGROUP_V2 };
    struct cgroup_usage usage = { .oom_kills = 9 };
    struct limits limits;
    struct cgroup cg;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    assert_int_equal(cgroup_open(&cg, &plan, &features, &err), 0);
    assert_int_equal(cgroup_create(&cg, &limits, &err), 0);
    assert_int_equal(cgroup_clone_fd(&cg), -1);
    cgroup_read(&cg, &usage);
    assert_int_equal(usage.oom_kills, 0);
    assert_int_equal(cgroup_cpu_us(&cg), 0);
    cgroup_destroy(&cg);
}

static void a_leaf_is_made_and_removed_under_a_name_of_ours(void **state)
{
    struct cgroup_features features = { .kind = CGROUP_V2, .usable = 1u << CG_CPUACCT };
    struct plan plan = { .cgroup_kind = CGROUP_V2, .cgroup_controllers = 1u << CG_CPUACCT };
    struct limits limits;
    struct cgroup cg;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    memcpy(features.parent[0], dir_path, sizeof(dir_path));
    assert_int_equal(cgroup_open(&cg, &plan, &features, &err), 0);
    assert_memory_equal(cg.name, CGROUP_PREFIX, strlen(CGROUP_PREFIX));
    assert_int_equal(faccessat(dir_fd, cg.name, F_OK, 0), -1); /* nothing is made yet */
    assert_int_equal(cgroup_create(&cg, &limits, &err), 0);
    assert_int_equal(faccessat(dir_fd, cg.name, F_OK, 0), 0);
    cgroup_destroy(&cg); /* leaves an empty directory for remove_dir, or that fails */
    memcpy(features.parent[0], "/nowhere", sizeof("/nowhere"));
    assert_refused(cgroup_open(&cg, &plan, &features, &err), &err, SBR_E_SYSTEM, "/nowhere");
}

/* The engine's janitor removes it while a client still watches the run. */
static void a_leaf_that_was_removed_is_known(void **state)
{
    struct cgroup cg = { .kind = CGROUP_V1, .controllers = 1u << CG_MEMORY };

    (void)state;
    for (unsigned int i = 0; i < N_CG; i++)
        cg.leaf_fd[i] = -1;
    assert_false(cgroup_is_removed(&cg));
    cg.leaf_fd[CG_MEMORY] = dir_fd;
    put("cgroup.procs", "");
    assert_false(cgroup_is_removed(&cg));
    assert_int_equal(unlinkat(dir_fd, "cgroup.procs", 0), 0);
    assert_true(cgroup_is_removed(&cg));
}

#define CGROUP_TEST(test) cmocka_unit_test_setup(test, empty_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CGROUP_TEST(numbers_are_read_and_what_is_not_there_is_zero),
        CGROUP_TEST(a_field_is_found_by_its_whole_name),
        CGROUP_TEST(limits_of_v2_are_written_to_the_files_of_their_controllers),
        CGROUP_TEST(controllers_that_are_not_wanted_are_left_alone),
        CGROUP_TEST(a_limit_that_cannot_be_set_is_an_error),
        CGROUP_TEST(a_kernel_without_swap_accounting_is_fine),
        CGROUP_TEST(measures_of_v2_are_read_from_their_files),
        CGROUP_TEST(without_controllers_there_is_nothing_to_make_or_measure),
        CGROUP_TEST(a_leaf_is_made_and_removed_under_a_name_of_ours),
        CGROUP_TEST(a_leaf_that_was_removed_is_known),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
