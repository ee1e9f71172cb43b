#include "monitor/verdict.h"

#include <signal.h>

#include "base/text.h"
#include "unit.h"

/* What wait(2) says of a program that exited or that a signal ended. */
#define EXITED(code) ((code) << 8)
#define KILLED(number) (number)

struct row {
    struct observation seen;
    enum sbr_verdict verdict;
    int exit_code, signal;
};

static sbr_result decide(const struct observation *seen)
{
    sbr_result result = { .exit_code = 77, .signal = 77, .explanation = "left over" };

    limits_init(&result.limits);
    result.limits.value[SBR_OUTPUT_BYTES] = MIB;
    verdict_decide(seen, &result);
    return result;
}

static void assert_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sbr_result result = decide(&rows[i].seen);

        if (result.verdict != rows[i].verdict || result.exit_code != rows[i].exit_code ||
            result.signal != rows[i].signal)
            fail_msg("row %zu: %s, exit %d, signal %d", i, result_verdict_name(result.verdict),
                     result.exit_code, result.signal);
        denials_done(&result.denials);
    }
}

static void a_program_that_ends_by_itself_is_told_as_it_ended(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { { .reported = true, .wait_status = EXITED(0) },       SBR_EXITED,     0,   0       },
        { { .reported = true, .wait_status = EXITED(1) },       SBR_EXITED,     1,   0       },
        { { .reported = true, .wait_status = EXITED(255) },     SBR_EXITED,     255, 0       },
        { { .reported = true, .wait_status = KILLED(SIGSEGV) }, SBR_SIGNALED,   -1,  SIGSEGV },
        { { .reported = true, .wait_status = KILLED(SIGKILL) }, SBR_SIGNALED,   -1,  SIGKILL },
        { { .reported = true, .wait_status = KILLED(SIGABRT) | 0x80 }, SBR_SIGNALED, -1, SIGABRT },
        { { .reported = true, .wait_status = KILLED(SIGXCPU) }, SBR_SIGNALED,   -1,  SIGXCPU },
        { { .reported = true, .wait_status = KILLED(SIGXFSZ) }, SBR_DISK_LIMIT, -1,  SIGXFSZ },
        { { .reported = true, .wait_status = KILLED(SIGSYS) },  SBR_DENIED,     -1,  SIGSYS  },
    };
    /* clang-format on */

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

static void a_failure_after_a_refusal_is_named_after_the_refusal(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { { .reported = true, .wait_status = EXITED(1), .refused_forks = 1 }, SBR_PROCESS_LIMIT, 1, 0 },
        { { .reported = true, .wait_status = EXITED(0), .refused_forks = 9 }, SBR_EXITED,        0, 0 },
        { { .reported = true, .wait_status = EXITED(1), .disk_full = true },  SBR_DISK_LIMIT,    1, 0 },
        { { .reported = true, .wait_status = EXITED(0), .disk_full = true },  SBR_EXITED,        0, 0 },
        { { .reported = true, .wait_status = KILLED(SIGABRT), .refused_forks = 1 },
          SBR_PROCESS_LIMIT, -1, SIGABRT },
    };
    /* clang-format on */

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

static void our_own_reason_comes_before_how_the_program_ended(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { { .stop = STOP_TIMEOUT, .reported = true, .wait_status = KILLED(SIGTERM) }, SBR_TIMEOUT, -1, SIGTERM },
        { { .stop = STOP_TIMEOUT, .reported = true, .wait_status = EXITED(0) }, SBR_TIMEOUT,      0,  0       },
        { { .stop = STOP_TIMEOUT },                                             SBR_TIMEOUT,      -1, SIGKILL },
        { { .stop = STOP_CPU },                                                 SBR_CPU_LIMIT,    -1, SIGKILL },
        { { .stop = STOP_MEMORY },                                              SBR_MEMORY_LIMIT, -1, SIGKILL },
        { { .stop = STOP_OUTPUT },                                              SBR_OUTPUT_LIMIT, -1, SIGKILL },
        { { .stop = STOP_CANCELLED },                                           SBR_CANCELLED,    -1, SIGKILL },
        { { .stop = STOP_CANCELLED, .refused_forks = 1, .disk_full = true },    SBR_CANCELLED,    -1, SIGKILL },
    };
    /* clang-format on */

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

static void a_kill_for_memory_is_a_memory_limit_unless_we_stopped_the_run_before(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { { .oom_kills = 1, .reported = true, .wait_status = KILLED(SIGKILL) }, SBR_MEMORY_LIMIT, -1, SIGKILL },
        { { .oom_kills = 1, .reported = true, .wait_status = EXITED(1) },       SBR_MEMORY_LIMIT, 1,  0       },
        { { .oom_kills = 1 },                                                   SBR_MEMORY_LIMIT, -1, SIGKILL },
        { { .oom_kills = 1, .stop = STOP_MEMORY },                              SBR_MEMORY_LIMIT, -1, SIGKILL },
        { { .oom_kills = 1, .stop = STOP_TIMEOUT },                             SBR_TIMEOUT,      -1, SIGKILL },
        { { .oom_kills = 1, .stop = STOP_OUTPUT },                              SBR_OUTPUT_LIMIT, -1, SIGKILL },
    };
    /* clang-format on */

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

static void an_end_that_nobody_can_explain_is_ours(void **state)
{
    static const struct row rows[] = { { { .stop = STOP_NONE }, SBR_INTERNAL_ERROR, -1, 0 } };

    (void)state;
    assert_rows(rows, ARRAY_LEN(rows));
}

/* The sentences themselves are test_ending.c's. */
static void an_end_that_is_not_the_programs_own_is_explained(void **state)
{
    static const struct {
        struct observation seen;
        const char *word; /* NULL: no sentence */
    } rows[] = {
        { { .stop = STOP_TIMEOUT }, "--timeout" },
        { { .stop = STOP_TIMEOUT, .stage = STAGE_CHECK }, "--compile-limit timeout" },
        { { .reported = true, .wait_status = KILLED(SIGXFSZ) }, "--disk" },
        { { .reported = true, .wait_status = EXITED(1), .disk_full = true, .inodes_full = true },
          "--inodes" },
        { { .reported = true, .wait_status = KILLED(SIGSEGV) }, "SIGSEGV" },
        { { .reported = true, .wait_status = KILLED(SIGXCPU) }, "SIGXCPU" },
        { { .stop = STOP_CANCELLED }, "cancelled" },
        { { .reported = true, .wait_status = EXITED(3) }, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_result result = decide(&rows[i].seen);

        if (rows[i].word ? !strstr(result.explanation, rows[i].word) : result.explanation[0] != 0)
            fail_msg("row %zu: %s", i, result.explanation);
        denials_done(&result.denials);
    }
}

static void without_a_limit_on_cpu_time_its_signal_is_the_programs_own(void **state)
{
    const struct observation seen = { .reported = true, .wait_status = KILLED(SIGXCPU) };
    sbr_result result = { 0 };

    (void)state;
    limits_init(&result.limits);
    result.limits.value[SBR_CPU_MS] = 1000;
    verdict_decide(&seen, &result);
    assert_int_equal(result.verdict, SBR_CPU_LIMIT);
    result.limits.value[SBR_CPU_MS] = LIMIT_NONE;
    verdict_decide(&seen, &result);
    assert_int_equal(result.verdict, SBR_SIGNALED);
}

static void what_a_limit_refused_is_told_with_what_would_allow_it(void **state)
{
    /* clang-format off */
    static const struct {
        struct observation seen;
        struct denial denial; /* count 0: none */
    } rows[] = {
        { { .reported = true, .refused_forks = 7 },
          { DENIAL_PROCESS, "a new process or thread", "limits: pids 128", "--pids 256", 7, 0 } },
        { { .reported = true, .refused_forks = 1, .forks_guessed = true }, { 0 } },
        { { .reported = true, .refused_forks = 1, .forks_guessed = true, .wait_status = EXITED(1) },
          { DENIAL_PROCESS, "a new process or thread", "limits: pids 128", "--pids 256", 1, 0 } },
        { { .reported = true, .oom_kills = 2, .wait_status = KILLED(SIGKILL) },
          { DENIAL_MEMORY, "memory", "limits: memory 512m", "--memory 1g", 2, 0 } },
        { { .stop = STOP_MEMORY }, { DENIAL_MEMORY, "memory", "limits: memory 512m", "--memory 1g", 1, 0 } },
        { { .reported = true, .disk_full = true },
          { DENIAL_DISK, "disk space", "limits: disk 256m", "--disk 512m", 1, 0 } },
        { { .reported = true, .disk_full = true, .inodes_full = true, .wait_status = EXITED(1) },
          { DENIAL_DISK, "files", "limits: inodes 100000", "--inodes 200000", 1, 0 } },
        { { .reported = true, .wait_status = KILLED(SIGXFSZ) },
          { DENIAL_DISK, "disk space", "limits: disk 256m", "--disk 512m", 1, 0 } },
        { { .reported = true, .refused_forks = 1, .stage = STAGE_COMPILE },
          { DENIAL_PROCESS, "a new process or thread", "limits: pids 128", "--compile-limit pids=256", 1, 0 } },
        { { .reported = true, .refused_forks = 1, .stage = STAGE_INSTALL },
          { DENIAL_PROCESS, "a new process or thread", "limits: pids 128",
            "`pids=256` in the language's file", 1, 0 } },
        { { .stop = STOP_TIMEOUT }, { 0 } },
        { { .stop = STOP_CPU }, { 0 } },
        { { .stop = STOP_OUTPUT }, { 0 } },
        { { .reported = true }, { 0 } },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_result result = decide(&rows[i].seen);
        const struct denial *want = &rows[i].denial, *got = result.denials.items;

        if (result.denials.n != (want->count > 0))
            fail_msg("row %zu has %zu refusals", i, result.denials.n);
        if (want->count) {
            assert_int_equal(got->kind, want->kind);
            assert_string_equal(got->target, want->target);
            assert_string_equal(got->rule, want->rule);
            assert_string_equal(got->remedy, want->remedy);
            assert_int_equal(got->count, want->count);
            assert_int_equal(got->source, DENIAL_BY_LIMIT);
        }
        denials_done(&result.denials);
    }
}

static void beyond_the_largest_value_there_is_no_remedy(void **state)
{
    const struct observation seen = { .reported = true, .refused_forks = 1 };
    sbr_result result = { 0 };

    (void)state;
    limits_init(&result.limits);
    result.limits.value[SBR_PIDS] = limit_defs[SBR_PIDS].max - 1;
    verdict_decide(&seen, &result);
    assert_string_equal(result.denials.items[0].remedy, "--pids 100000");
    denials_done(&result.denials);
    result.limits.value[SBR_PIDS] = limit_defs[SBR_PIDS].max;
    verdict_decide(&seen, &result);
    assert_string_equal(result.denials.items[0].remedy, "");
    denials_done(&result.denials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_ends_by_itself_is_told_as_it_ended),
        cmocka_unit_test(a_failure_after_a_refusal_is_named_after_the_refusal),
        cmocka_unit_test(our_own_reason_comes_before_how_the_program_ended),
        cmocka_unit_test(a_kill_for_memory_is_a_memory_limit_unless_we_stopped_the_run_before),
        cmocka_unit_test(an_end_that_nobody_can_explain_is_ours),
        cmocka_unit_test(an_end_that_is_not_the_programs_own_is_explained),
        cmocka_unit_test(without_a_limit_on_cpu_time_its_signal_is_the_programs_own),
        cmocka_unit_test(what_a_limit_refused_is_told_with_what_would_allow_it),
        cmocka_unit_test(beyond_the_largest_value_there_is_no_remedy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
