#include "explain/ending.h"

#include <signal.h>

#include "base/text.h"
#include "unit.h"

#define MORE "would allow more"

/* clang-format off */
static const struct {
    enum sbr_verdict verdict;
    enum stage stage;
    int signal;
    bool inodes;
    const char *sentence;
} rows[] = {
    { SBR_EXITED, STAGE_RUN, 0, false, "" },
    { SBR_TIMEOUT, STAGE_RUN, SIGTERM, false,
      "the program was still running after 30s; --timeout 1m " MORE },
    { SBR_CPU_LIMIT, STAGE_RUN, SIGXCPU, false,
      "the program used more CPU time than 2s; --cpu-time 4s " MORE },
    { SBR_MEMORY_LIMIT, STAGE_RUN, SIGKILL, false,
      "the program needed more memory than 512m (how much is not known); --memory 1g " MORE },
    { SBR_OUTPUT_LIMIT, STAGE_RUN, SIGKILL, false,
      "the program wrote more output to one stream than 10m; --max-output 20m " MORE },
    { SBR_DISK_LIMIT, STAGE_RUN, SIGXFSZ, false,
      "the program filled its space for files, 256m; --disk 512m " MORE },
    { SBR_DISK_LIMIT, STAGE_RUN, 0, true,
      "the program made more files than 100000; --inodes 200000 " MORE },
    { SBR_PROCESS_LIMIT, STAGE_RUN, 0, false,
      "the program was refused a process or thread beyond its 128; --pids 256 " MORE },
    { SBR_DENIED, STAGE_RUN, SIGSYS, false,
      "the program made a system call of a foreign architecture, or sent itself SIGSYS" },
    { SBR_CANCELLED, STAGE_RUN, SIGTERM, false,
      "the program was ended because the caller cancelled the run" },
    { SBR_SIGNALED, STAGE_RUN, SIGSEGV, false,
      "the program was ended by SIGSEGV, an invalid access to memory; the sandbox did not send it" },
    { SBR_SIGNALED, STAGE_RUN, SIGABRT, false,
      "the program was ended by SIGABRT, the program's own abort(); the sandbox did not send it" },
    { SBR_SIGNALED, STAGE_RUN, SIGKILL, false,
      "the program was ended by SIGKILL; the sandbox did not send it" },
    { SBR_SIGNALED, STAGE_RUN, SIGINT, false,
      "the program was ended by SIGINT, which Ctrl-C sends" },
    { SBR_SIGNALED, STAGE_RUN, 40, false,
      "the program was ended by signal 40; the sandbox did not send it" },
    { SBR_TIMEOUT, STAGE_COMPILE, SIGTERM, false,
      "the compiler was still running after 30s; --compile-limit timeout=1m " MORE },
    { SBR_MEMORY_LIMIT, STAGE_CHECK, SIGKILL, false,
      "the checker needed more memory than 512m (how much is not known); --compile-limit memory=1g " MORE },
    { SBR_MEMORY_LIMIT, STAGE_INSTALL, SIGKILL, false,
      "the installer needed more memory than 512m (how much is not known); `memory=1g` in the language's file " MORE },
    { SBR_TIMEOUT, STAGE_PREPARE, SIGKILL, false,
      "the preparation was still running after 30s; `timeout=1m` in the language's file " MORE },
};
/* clang-format on */

static sbr_result ended(enum sbr_verdict verdict, int signal)
{
    sbr_result result = { .verdict = verdict, .signal = signal, .explanation = "left over" };

    limits_init(&result.limits);
    result.limits.value[SBR_CPU_MS] = 2000;
    result.limits.value[SBR_OUTPUT_BYTES] = 10 * MIB;
    return result;
}

static void every_end_has_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_result result = ended(rows[i].verdict, rows[i].signal);

        ending_explain(&result, rows[i].stage, rows[i].inodes);
        assert_string_equal(result.explanation, rows[i].sentence);
        assert_null(strchr(result.explanation, '\n'));
    }
}

static void the_highest_limit_has_no_remedy(void **state)
{
    sbr_result result = ended(SBR_TIMEOUT, SIGKILL);
    char remedy[80] = "left over";

    (void)state;
    result.limits.value[SBR_WALL_MS] = limit_defs[SBR_WALL_MS].max;
    ending_explain(&result, STAGE_RUN, false);
    assert_string_equal(result.explanation,
                        "the program was still running after 24h; --timeout sets this limit");
    ending_remedy(STAGE_RUN, SBR_WALL_MS, limit_defs[SBR_WALL_MS].max, remedy, sizeof(remedy));
    assert_string_equal(remedy, "");
}

static void a_failed_stage_speaks_for_the_job(void **state)
{
    sbr_result last = ended(SBR_EXITED, 0), result = ended(SBR_COMPILE_FAILED, 0);
    char said[] = "gcc: fatal error: Killed signal terminated program cc1\n"
                  "compilation terminated.\n";

    (void)state;
    last.explanation[0] = '\0';
    last.exit_code = 2;
    ending_explain_stage(&result, STAGE_INSTALL, &last);
    assert_string_equal(result.explanation,
                        "the installer ended with exit code 2, so the program did not run");
    last.err.data = said;
    last.err.len = strlen(last.err.data);
    ending_explain_stage(&result, STAGE_COMPILE, &last);
    assert_non_null(
        strstr(result.explanation, "the compiler says that a program of its own was killed"));
    last.verdict = SBR_TIMEOUT;
    ending_explain(&last, STAGE_COMPILE, false);
    ending_explain_stage(&result, STAGE_COMPILE, &last);
    assert_string_equal(result.explanation, last.explanation);
}

#define KILLED "fatal error: Killed signal terminated program cc1\n"
#define END "compilation terminated.\n"
#define EXIT "` (signal: 9, SIGKILL: kill)\n"

/* What a source can make a compiler say is no sign of a killed one. */
static void only_whole_lines_at_the_end_tell_of_killed_compilers(void **state)
{
    static const struct {
        const char *said;
        bool killed;
    } texts[] = {
        { "x86_64-linux-gnu-gcc-14: " KILLED END, true },
        { "main.c:1:2: warning: x\ng++: " KILLED END, true },
        { "command-line-arguments: /usr/lib/go/tool/compile: signal: killed\n", true },
        { "error: could not compile `x`\n\nCaused by:\n  process didn't exit successfully: "
          "`rustc" EXIT,
          true },
        { "main.c:1:2: error: #error gcc: " KILLED END, false },
        { "main.c:1:2: note: '#pragma message: x\ngcc: " KILLED END "    2 | #pragma\n", false },
        { "/tmp/a.s: Assembler messages:\n/tmp/a.s:4: Error: x\ngcc: " KILLED END, false },
        { "gcc: " KILLED "main.c:1:2: error: x\n", false },
        { "a: fatal error: Killed signal terminated program cc1.c:1:2: error: x\n" END, false },
        { ": " KILLED END, false },
        { "./main.go:3:5: undefined: x: signal: killed\n", false },
        { "error: x\n         process didn't exit successfully: `" EXIT, false },
        { END, false },
        { "\n", false },
        { "", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        sbr_result last = ended(SBR_EXITED, 0), result = ended(SBR_COMPILE_FAILED, 0);

        last.explanation[0] = '\0';
        last.err.data = (char *)texts[i].said;
        last.err.len = strlen(texts[i].said);
        ending_explain_stage(&result, STAGE_COMPILE, &last);
        if (!strstr(result.explanation, "was killed") == texts[i].killed)
            fail_msg("%s: %s", texts[i].said, result.explanation);
        last.err.tail = last.err.data;
        last.err.tail_len = last.err.len;
        last.err.data = (char *)"beginning";
        ending_explain_stage(&result, STAGE_COMPILE, &last);
        assert_int_equal(!!strstr(result.explanation, "was killed"), texts[i].killed);
    }
}

static void the_signal_to_the_client_is_named(void **state)
{
    sbr_result result = ended(SBR_CANCELLED, SIGKILL);

    (void)state;
    ending_name_signal(&result, SIGINT);
    assert_string_equal(result.explanation, "SIGINT to sandbox-run ended the run");
    result = ended(SBR_CANCELLED, SIGKILL);
    ending_name_signal(&result, 0); /* the library's caller */
    assert_string_equal(result.explanation, "left over");
    result = ended(SBR_TIMEOUT, SIGKILL);
    ending_name_signal(&result, SIGINT); /* it came too late */
    assert_string_equal(result.explanation, "left over");
}

static void only_the_limit_behind_the_end_is_covered(void **state)
{
    const struct denial memory = { .kind = DENIAL_MEMORY, .source = DENIAL_BY_LIMIT },
                        disk = { .kind = DENIAL_DISK, .source = DENIAL_BY_LIMIT },
                        file = { .kind = DENIAL_FILE, .source = DENIAL_BY_RULE };
    sbr_result result = ended(SBR_MEMORY_LIMIT, SIGKILL), job = ended(SBR_COMPILE_FAILED, 0);

    (void)state;
    assert_true(ending_covers(&result, &memory));
    assert_false(ending_covers(&result, &disk));
    assert_false(ending_covers(&result, &file));
    job.before[job.n_before++] = &result;
    assert_true(ending_covers(&job, &memory));
    assert_true(ending_is_limit(&result));
    assert_true(ending_is_limit(&job));
    result.verdict = SBR_EXITED;
    assert_false(ending_covers(&result, &memory));
    assert_false(ending_is_limit(&job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_has_its_sentence),
        cmocka_unit_test(the_highest_limit_has_no_remedy),
        cmocka_unit_test(a_failed_stage_speaks_for_the_job),
        cmocka_unit_test(only_whole_lines_at_the_end_tell_of_killed_compilers),
        cmocka_unit_test(the_signal_to_the_client_is_named),
        cmocka_unit_test(only_the_limit_behind_the_end_is_covered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
